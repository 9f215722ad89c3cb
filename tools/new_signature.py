"""Start a signature from one sample line.

    python tools/new_signature.py kv_cache_too_small --kind error --phase kv_check < line.txt

Writes src/oomedic/data/signatures/NAME.toml: numbers and sizes become fields, the longest run of plain words
becomes the literal. What remains is to say in `says` what the line tells, to give the fields their names, and
to make the pattern as short as it can be. Prints which signatures claim the line already.
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

from oomedic.logs.signature import KINDS, PHASES
from oomedic.logs.signatures import Signatures
from oomedic.logs.text import lines
from toml_text import value

FOLDER = Path(__file__).resolve().parent.parent / "src/oomedic/data/signatures"
NUMBERS = re.compile(r"(?P<size>\d+(?:\.\d+)? ?(?:bytes|[KMGT]i?B)\b)|(?P<float>-?\d+\.\d+)|(?P<int>-?\d[\d,]*\d|-?\d)")
PATTERNS = {"size": r"[\d.]+ \w+", "float": r"-?[\d.]*\d", "int": r"-?\d[\d,]*"}
PLAIN = re.compile(r"[^\d\"'\\`<>&(){}\[\]]{6,}")


def main() -> int:
    """Write the file, unless there is one of that name or the line has nothing to search for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("name", help="snake_case: what the line tells")
    parser.add_argument("line", nargs="?", help="the sample; standard input when it is not given")
    parser.add_argument("--kind", choices=KINDS, default="error")
    parser.add_argument("--phase", choices=PHASES, default="other")
    given = parser.parse_args()
    sample = (given.line or sys.stdin.readline()).rstrip("\n")
    path = FOLDER / f"{given.name}.toml"
    if path.exists():
        return _refuse(f"{path} is there already")
    row = scaffold(given.name, sample)
    if row is None:
        return _refuse("the line has no six letters in a row to search for")
    claimed = sorted({event.signature for event in Signatures(shipped()).read([sample.encode()])})
    path.write_text(written(row | {"kind": given.kind, "phase": given.phase}), encoding="utf-8")
    print(f"{path}: now say in one sentence what the line tells, and name the fields")
    print(f"claimed already by: {', '.join(claimed) or 'none'}")
    return 0


def scaffold(name: str, sample: str) -> dict[str, Any] | None:
    """Make the table of a signature that reads the sample; None when nothing of it can be searched for."""
    text = lines(sample.encode())[-1].text.strip()
    literals = sorted(PLAIN.findall(text), key=len)
    if not literals:
        return None
    fields: dict[str, str] = {}
    reads: dict[str, int | float | str] = {}
    pattern, done = "", 0
    for number in NUMBERS.finditer(text):
        kind = str(number.lastgroup)
        field = f"{kind}_{len(fields) + 1}"
        fields[field] = kind
        reads[field] = {"int": lambda word: int(word.replace(",", "")), "float": float}.get(kind, str)(number[0])
        pattern += re.escape(text[done : number.start()]).replace(r"\ ", " ") + f"(?P<{field}>{PATTERNS[kind]})"
        done = number.end()
    literal = literals[-1].strip()
    return {"name": name, "contains": [literal], "pattern": pattern, "fields": fields, "sample": sample, "reads": reads}


def written(row: dict[str, Any]) -> str:
    """Write the table as the shipped files are written."""
    head = {"says": "", "kind": row["kind"], "phase": row["phase"], "contains": row["contains"]}
    parts = [f"{key} = {value(content)}" for key, content in head.items()]
    if row["fields"]:
        parts += [f"pattern = '''{row['pattern']}'''", "", "[fields]"]
        parts += [f"{field} = {value(kind)}" for field, kind in row["fields"].items()]
    parts += ["", "[[sample]]", f"line = {value(row['sample'])}"]
    parts += [f"reads = {value(row['reads'])}"] if row["fields"] else []
    return "\n".join(parts) + "\n"


def shipped() -> list[dict[str, Any]]:
    """Return the signatures that are there already."""
    return [
        {"name": path.stem} | tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(FOLDER.glob("*.toml"))
    ]


def _refuse(reason: str) -> int:
    print(reason, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
