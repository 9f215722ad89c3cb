"""Where a report goes: its language, its colours, its format."""

import sys
from typing import TYPE_CHECKING

from oomedic.entrypoints.colours import colours
from oomedic.reports.numbers import numbers_of
from oomedic.reports.phrases import Phrasebook
from oomedic.sources.builtin import load
from oomedic.sources.languages import numbers_row

if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from oomedic.catalogue import Catalogue
    from oomedic.result import Report

_DECIMAL = ("GB", "MB", "KB", "TB")


def catalogue(options: "Namespace") -> "Catalogue":
    """Return the facts, with the user's own where a directory is given."""
    found = load(options.lang)
    if not getattr(options, "data", None):
        return found
    from pathlib import Path  # only where a directory is given

    from oomedic.sources.builtin import extra_data

    return found.extended(extra_data(Path(options.data)))


def phrasebook(options: "Namespace") -> Phrasebook:
    """Return the sentences, with GB beside GiB when a size was given in GB."""
    given = (getattr(options, name, None) or "" for name in ("gpu_memory", "weights", "kv_cache_memory"))
    in_gb = any(size.strip().upper().endswith(_DECIMAL) for size in given)
    numbers = numbers_of(numbers_row(options.lang))
    return Phrasebook(load(options.lang).messages(), decimal=in_gb, numbers=numbers)


def show(report: "Report", options: "Namespace", facts: "Catalogue") -> None:
    """Write the report to standard output in the format asked for."""
    write(_rendered(report, options, facts))


def show_instances(report: "Report", options: "Namespace") -> None:
    """Write what a search for instance types found."""
    phrases = phrasebook(options)
    if options.output in {"json", "yaml"}:
        write(_as_tree(report, options, phrases))
        return
    from oomedic.reports.draw import Pen  # only for people
    from oomedic.reports.instances import as_markdown, as_text

    if options.output == "markdown":
        write(as_markdown(report, phrases))
    else:
        write(as_text(report, phrases, Pen(colour=colours(options)), quiet=options.quiet))


def show_comparison(report: "Report", options: "Namespace", facts: "Catalogue") -> None:
    """Write several budgets side by side; with -v, or for programs, each in full."""
    if options.output in {"json", "yaml"} or options.verbose:
        show(report, options, facts)
        return
    from oomedic.reports.comparison import as_markdown, as_text  # only for people
    from oomedic.reports.draw import Pen

    phrases = phrasebook(options)
    markdown = options.output == "markdown"
    write(as_markdown(report, phrases) if markdown else as_text(report, phrases, Pen(colour=colours(options))))


def as_data(value: "Any", form: str) -> str:
    """Return plain values as JSON or YAML."""
    if form == "yaml":
        import yaml  # only where YAML is asked for

        return str(yaml.dump(value, Dumper=yaml.SafeDumper, sort_keys=False, allow_unicode=True))
    import json  # only where JSON is asked for

    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def write(text: str) -> None:
    """Write text to standard output."""
    sys.stdout.write(text)
    sys.stdout.flush()


def _rendered(report: "Report", options: "Namespace", facts: "Catalogue") -> str:
    phrases = phrasebook(options)
    if options.output in {"json", "yaml"}:
        return _as_tree(report, options, phrases)
    if options.output == "markdown":
        from oomedic.reports.markdown import render as as_markdown

        return as_markdown(report, phrases, _names(facts))
    return _text(report, options, phrases, facts)


def _as_tree(report: "Report", options: "Namespace", phrases: Phrasebook) -> str:
    if options.output == "json":
        from oomedic.reports.json import render as as_json  # each format loads itself

        return as_json(report, phrases)
    from oomedic.reports.yaml import render as as_yaml

    return as_yaml(report, phrases)


def _text(report: "Report", options: "Namespace", phrases: Phrasebook, facts: "Catalogue") -> str:
    from oomedic.reports.draw import Pen
    from oomedic.reports.text import Style, render

    loudness = {"quiet": options.quiet, "verbose": bool(options.verbose)}
    style = Style(phrases, Pen(colour=colours(options)), _names(facts), _width(), **loudness)
    return render(report, style)


def _names(facts: "Catalogue") -> dict[str, str]:
    return {code: str(facts.page(code)["name"]) for code in facts.codes()}


def _width() -> int:
    if not sys.stdout.isatty():
        return 100
    from shutil import get_terminal_size  # only on a terminal

    return max(60, min(120, get_terminal_size().columns))
