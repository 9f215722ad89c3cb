"""Compile the facts of src/oomedic/data, and the pages of causes and remedies, into data/index.

    python tools/build_index.py            write what is stale
    python tools/build_index.py --check    fail when something is stale, and say what

A run of oomedic reads the index alone: JSON is parsed some fifty times faster than TOML, and one model is found among
all of them without parsing the others. The output is a function of the sources; nothing else decides it.
"""

import argparse
import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import translations
from oomedic.entrypoints.help_texts import collected
from oomedic.entrypoints.options import parsers
from pages import read_page

SOURCE = Path(__file__).resolve().parent.parent / "src/oomedic"
DATA = SOURCE / "data"
INDEX = DATA / "index"
FOR_TESTS_ONLY = ("sample", "reject")
Table = dict[str, Any]


def main() -> int:
    """Write the stale outputs, or with --check only report them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    outputs = build()
    stored = {path.name: path.read_bytes() for path in INDEX.glob("*")} if INDEX.exists() else {}
    stale = {name: text for name, text in outputs.items() if stored.get(name) != text}
    for name in sorted(stale.keys() | (stored.keys() - outputs.keys())):
        print(f"{name}: {difference(stored.get(name, b''), outputs.get(name, b''))}")
    if check:
        if stale or stored.keys() - outputs.keys():
            print("data/index is stale: run `make index`", file=sys.stderr)
            return 1
        return 0
    INDEX.mkdir(exist_ok=True)
    for name in stored.keys() - outputs.keys():
        (INDEX / name).unlink()
    for name, text in stale.items():
        (INDEX / name).write_bytes(text)
    return 0


def build() -> dict[str, bytes]:
    """Return every file of the index."""
    pages = read_pages()
    messages = flat(read(DATA / "messages.toml"))
    for code, page in pages.items():
        messages |= {f"{code}.{name}": text for name, text in page.pop("says").items()}
    facts = read(DATA / "gpus.toml")
    outputs = {
        "arguments.json": _json(arguments()),
        "engines.json": _json(engines()),
        "formats.json": _json(read(DATA / "formats.toml").get("format", [])),
        "gpus.json": _json({"gpu": facts.get("gpu", []), "mig": facts.get("mig", [])}),
        "instances.json": _json(read(DATA / "instances.toml").get("instance", [])),
        "messages.json": _json(dict(sorted(messages.items()))),
        "models.tsv": models(),
        "pages.json": _json(pages),
        "signatures.json": _json(signatures()),
    }
    outputs["versions.json"] = _json(versions(outputs))
    outputs |= {"headings.json": _json(translations.headings(pages)), "help.json": _json(collected(parsers()))}
    return outputs | translations.compiled(outputs)


def read(path: Path) -> Table:
    """Read a TOML file; a file that is not there is empty."""
    return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def signatures() -> list[Table]:
    """Return one table per signature file, without its examples."""
    return [
        {"name": path.stem} | {key: content for key, content in read(path).items() if key not in FOR_TESTS_ONLY}
        for path in sorted(DATA.glob("signatures/*.toml"))
    ]


def arguments() -> Table:
    """Return arguments.toml: its rows under "argument", beside the releases they were read from."""
    return read(DATA / "arguments.toml")


def engines() -> list[Table]:
    """Return one table per engine file, oldest version first."""
    paths = sorted(DATA.glob("engines/*.toml"), key=lambda path: _version_key(path.stem))
    return [{"version": path.stem} | read(path) for path in paths]


def models() -> bytes:
    """Return one line per model: its id in small letters, a tab, its row as JSON; a moved one names its new id."""
    rows: dict[str, Table] = {}
    for path in sorted(DATA.glob("models/*.toml")):
        for row in read(path).get("model", []):
            key = row["id"].lower()
            if key in rows:
                sys.exit(f"{path.name}: {row['id']} stands twice")
            rows[key] = row | {"config": config(row["config"])}
    rows = moved(rows) | rows
    lines = [f"{key}\t{_compact(row)}\n" for key, row in sorted(rows.items())]
    return ("# lower-case id, tab, row as JSON; found by searching, not by parsing\n" + "".join(lines)).encode()


def moved(rows: Mapping[str, Table]) -> dict[str, Table]:
    """Return a pointer for every repository that has an old name on the hub."""
    renamed = read(DATA / "models/renamed.toml")
    pointers = {old.lower(): {"moved_to": new} for old, new in renamed.get("models", {}).items()}
    for old, new in renamed.get("organisations", {}).items():
        for key, row in rows.items():
            organisation, _, name = key.partition("/")
            if organisation == new.lower():
                pointers[f"{old.lower()}/{name}"] = {"moved_to": row["id"]}
    return pointers


def config(text: str | Table) -> Table:
    """Return a model's config, which the TOML holds as JSON text or as a table."""
    return json.loads(text) if isinstance(text, str) else text


def read_pages() -> dict[str, Table]:
    """Return the page of every cause, remedy and slip by its code."""
    found = [
        read_page(path, kind)
        for folder, kind in (("causes", "cause"), ("remedies", "remedy"), ("slips", "slip"))
        for path in sorted((SOURCE / folder).glob("*.py"))
    ]
    return {page["code"]: page for page in sorted(filter(None, found), key=lambda page: page["code"])}


def flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    """Join nested tables by dots: ``{"error": {"x": {"says": …}}}`` becomes ``{"error.x.says": …}``."""
    found: dict[str, str] = {}
    for key, content in table.items():
        found |= flat(content, f"{prefix}{key}.") if isinstance(content, Mapping) else {f"{prefix}{key}": content}
    return found


def versions(outputs: Mapping[str, bytes]) -> Table:
    """Return the catalogue's version: the date of its facts and a digest of everything in it."""
    digest = hashlib.sha256(b"".join(outputs[name] for name in sorted(outputs))).hexdigest()[:12]
    date = read(DATA / "catalogue.toml").get("date", "undated")
    return {"catalogue": f"{date}+{digest}", "date": date, "digest": digest}


def difference(old: bytes, new: bytes) -> str:
    """Say in a few words how two versions of an output differ."""
    before, after = _entries(old), _entries(new)
    added, gone = sorted(after.keys() - before.keys()), sorted(before.keys() - after.keys())
    changed = sorted(key for key in before.keys() & after.keys() if before[key] != after[key])
    parts = [f"{sign}{len(keys)} ({_some(keys)})" for sign, keys in (("+", added), ("-", gone), ("~", changed)) if keys]
    return ", ".join(parts) or "order or spelling"


def _entries(text: bytes) -> dict[str, str]:
    if not text.startswith((b"{", b"[")):
        return dict(line.split("\t", 1) for line in text.decode().splitlines() if "\t" in line)
    content = json.loads(text)
    if isinstance(content, list):
        content = {str(row.get("name") or row.get("version") or number): row for number, row in enumerate(content)}
    nested = {key: item for key, item in content.items() if isinstance(item, list)}
    for key, rows in nested.items():
        content[key] = len(rows)
        content |= {
            f"{key}: {row.get('name', number)}": row for number, row in enumerate(rows) if isinstance(row, dict)
        }
    return {key: _compact(item) for key, item in content.items()}


def _some(keys: Iterable[str]) -> str:
    keys = list(keys)
    return ", ".join(keys[:4]) + (" …" if len(keys) > 4 else "")


def _version_key(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


def _compact(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _json(content: Any) -> bytes:
    """Write one entry per line, so that a change shows as what it is."""
    if not content:
        return (_compact(content) + "\n").encode()
    if isinstance(content, dict):
        entries = [f"{_compact(key)}:{_compact(value)}" for key, value in content.items()]
        return ("{\n" + ",\n".join(entries) + "\n}\n").encode()
    return ("[\n" + ",\n".join(map(_compact, content)) + "\n]\n").encode()


if __name__ == "__main__":
    sys.exit(main())
