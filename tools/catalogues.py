"""Take the English texts into the catalogues of translations.

    python tools/catalogues.py            update every catalogue: new texts, changed ones (fuzzy), gone ones
    python tools/catalogues.py --check    fail when a catalogue does not hold today's texts
    python tools/catalogues.py --new de   begin a language
    python tools/catalogues.py --left pl  list what is to be translated

The contexts of a catalogue are the ids of our messages, so that a translation stays with its message: where the English
text changes, the translation is kept, marked fuzzy, beside the text that it was made for.
"""

import argparse
import io
import re
import sys
from collections.abc import Mapping
from pathlib import Path

from babel.messages.catalog import Catalog, Message
from babel.messages.pofile import write_po

import translations
from build_docs import words as words_of_docs
from build_index import INDEX
from catalogue_checks import problems

ROOT = Path(__file__).resolve().parent.parent
_CHANGING = re.compile(
    r'^"(?:POT-Creation-Date|PO-Revision-Date|Last-Translator|Language-Team|Generated-By|Report-Msgid-Bugs-To):.*\n',
    re.MULTILINE,
)
"""What changes though no text did, and what is nobody's."""
_HEADER = """\
oomedic in {name}. A text is found by its context, the id of its message;
the text itself is English as it is today. `make index` takes changed texts
in and marks them fuzzy; a translation counts when it is not fuzzy.
"""


def main() -> int:
    """Do what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--new", metavar="LANGUAGE")
    parser.add_argument("--left", metavar="LANGUAGE")
    options = parser.parse_args()
    texts = sources()
    if options.left:
        print("\n".join(problems(translations.read(path_of(options.left)), texts)) or "nothing")
        return 0
    if options.new:
        write(path_of(options.new), updated(Catalog(options.new), texts))
        return 0
    return brought_up_to_date(texts, check=options.check)


def brought_up_to_date(texts: Mapping[str, str], *, check: bool) -> int:
    """Write the stale catalogues, or only report them; return the exit status."""
    stale = False
    for language, catalog in translations.catalogues():
        path, text = path_of(language), written(updated(catalog, texts))
        if path.read_bytes() == text:
            continue
        stale = True
        print(f"{path.relative_to(ROOT)}: {difference(catalog, texts)}")
        if not check:
            path.write_bytes(text)
    if stale and check:
        print("catalogues are stale: run `make index`", file=sys.stderr)
    return 1 if stale and check else 0


def sources() -> translations.Texts:
    """Return every text that is translated, by its id: those of the index and those of the documentation."""
    parts = {path.name: path.read_bytes() for path in INDEX.glob("*.json")}
    return translations.texts(parts) | words_of_docs()


def updated(catalog: Catalog, texts: Mapping[str, str]) -> Catalog:
    """Return a catalogue with exactly these texts; what was translated from another text is fuzzy."""
    known = {str(message.context): message for message in catalog if message.id}
    fresh = Catalog(catalog.locale, project="oomedic", header_comment=_header(catalog), charset="utf-8", fuzzy=False)
    for name, text in texts.items():
        kept = known.get(name)
        string = kept.string if kept else ""
        changed = kept is not None and kept.id != text and bool(string)
        before = ([str(kept.id)] if changed else list(kept.previous_id)) if kept and string else []
        fuzzy = changed or (kept is not None and kept.fuzzy)
        fresh[name] = Message(
            text, string, flags={"fuzzy"} if fuzzy else (), previous_id=before if fuzzy else (), context=name
        )
    return fresh


def written(catalog: Catalog) -> bytes:
    """Return the text of a catalogue, without dates: the same texts give the same file."""
    text = io.BytesIO()
    write_po(text, catalog, width=110, include_previous=True)
    return _CHANGING.sub("", text.getvalue().decode()).replace("oomedic VERSION", "oomedic").encode()


def write(path: Path, catalog: Catalog) -> None:
    """Write a catalogue that is not there yet."""
    path.parent.mkdir(parents=True)
    path.write_bytes(written(catalog))


def path_of(language: str) -> Path:
    """Return where the catalogue of a language lies."""
    return translations.LOCALE / language / "LC_MESSAGES" / translations.DOMAIN


def difference(catalog: Catalog, texts: Mapping[str, str]) -> str:
    """Say in a few words what is new, changed and gone."""
    held = {str(message.context): message.id for message in catalog if message.id}
    new, gone = texts.keys() - held.keys(), held.keys() - texts.keys()
    changed = [name for name in texts.keys() & held.keys() if texts[name] != held[name]]
    parts = [f"{sign}{len(names)}" for sign, names in (("+", new), ("-", gone), ("~", changed)) if names]
    return " ".join(parts) or "order or spelling"


def _header(catalog: Catalog) -> str:
    name = catalog.locale.english_name if catalog.locale else ""
    return "\n".join(f"# {line}" for line in _HEADER.format(name=name).splitlines())


if __name__ == "__main__":
    sys.exit(main())
