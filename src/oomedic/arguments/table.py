"""vLLM's arguments over its releases: which flags exist, what they are called inside, which values they take."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from typing import Any, Literal, NamedTuple, cast

from oomedic.version import Version, parse_version

Kind = Literal["int", "count", "float", "text", "flag", "json", "list"]


class Argument(NamedTuple):
    """One argument.

    Attributes:
        name: vLLM's field name.
        flags: every spelling; the first is the newest.
        kind: what its value looks like; ``items`` what the items of a list look like.
        since: the first release that is known to have it; None: as old as the table.
        until: the last release that is known to have it; None: the newest has it.
        no_since: the first release that is known to take ``--no-…``.
        secret: its value must never be shown.
    """

    name: str
    flags: tuple[str, ...]
    kind: Kind
    items: str | None = None
    since: str | None = None
    until: str | None = None
    no_since: str | None = None
    secret: bool = False

    def in_release(self, version: Version) -> bool:
        """Tell whether a release of this minor version has the argument."""
        since, until = parse_version(self.since or ""), parse_version(self.until or "")
        return (since is None or version[:2] >= since[:2]) and (until is None or version[:2] <= until[:2])


class Match(NamedTuple):
    """A flag that was recognised; ``negated`` for ``--no-…``."""

    argument: Argument
    negated: bool


class ArgumentTable:
    """The arguments by spelling; each is read from its row when it is first met, as a command has few of them."""

    def __init__(
        self,
        spelled: Mapping[str, tuple[Mapping[str, Any], bool]],
        long_flags: tuple[str, ...],
        version: Version | None = None,
    ) -> None:
        """Make a table.

        Args:
            spelled: each flag with its row, and whether it negates.
            long_flags: the sorted flags that a shortened one may mean.
            version: the release that decides among them.
        """
        self._spelled = spelled
        self._long_flags = long_flags
        self._version = version

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> "ArgumentTable":
        """Build the table from the rows of data/arguments.toml."""
        spelled: dict[str, tuple[Mapping[str, Any], bool]] = {}
        for row in rows:
            for written in row["flags"]:
                flag = written.replace("_", "-")
                spelled[flag] = row, False
                if "no_since" in row and flag.startswith("--"):
                    spelled[f"--no-{flag[2:]}"] = row, True
        return cls(spelled, tuple(sorted(flag for flag in spelled if flag.startswith("--"))))

    def at(self, version: Version) -> "ArgumentTable":
        """Return the same table, in which a shortened flag means only what it can mean in this release."""
        return ArgumentTable(self._spelled, self._long_flags, version)

    def with_flags(self, names: Mapping[str, str]) -> "ArgumentTable":
        """Return the same table with further flags, of a server that hands them on: the argument's name by flag."""
        rows = {row["name"]: row for row, _ in self._spelled.values()}
        more = {flag: (rows[name], False) for flag, name in names.items() if name in rows}
        spelled = {**self._spelled, **more}
        return ArgumentTable(spelled, tuple(sorted(flag for flag in spelled if flag.startswith("--"))), self._version)

    def flags(self) -> tuple[str, ...]:
        """Return every spelling."""
        return tuple(self._spelled)

    def arguments(self) -> tuple[Argument, ...]:
        """Return every argument."""
        return tuple({row["name"]: _argument(row) for row, _ in self._spelled.values()}.values())

    def exact(self, flag: str) -> Match | None:
        """Recognise a flag with dashes that is spelled out."""
        found = self._spelled.get(flag)
        return None if found is None else Match(_argument(found[0]), found[1])

    def find(self, flag: str) -> Match | None:
        """Recognise a flag with dashes, whole or shortened as argparse allows; None if it is unknown or ambiguous."""
        if flag in self._spelled:
            return self.exact(flag)
        candidates = {self.exact(known) for known in self.candidates(flag)}
        return candidates.pop() if len(candidates) == 1 else None

    def candidates(self, flag: str) -> tuple[str, ...]:
        """Return the flags that a shortened one may mean."""
        flags, version = self._long_flags, self._version
        start = end = bisect_left(flags, flag)
        while end < len(flags) and flags[end].startswith(flag):
            end += 1
        found = flags[start:end] if len(flag) > len("--") else ()
        if version is None:
            return found
        return tuple(known for known in found if _argument(self._spelled[known][0]).in_release(version))


def _argument(row: Mapping[str, Any]) -> Argument:
    return Argument(
        row["name"],
        tuple(dict.fromkeys(flag.replace("_", "-") for flag in row["flags"])),
        cast("Kind", row["kind"]),
        row.get("items"),
        row.get("since"),
        row.get("until"),
        row.get("no_since"),
        row.get("secret", False),
    )
