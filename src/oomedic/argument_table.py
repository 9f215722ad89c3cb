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


class ArgumentTable(NamedTuple):
    """The arguments by name and by spelling.

    ``long_flags`` are the sorted flags that a shortened one may mean, ``version`` the release that decides among them.
    """

    arguments: Mapping[str, Argument]
    flags: Mapping[str, Match]
    long_flags: tuple[str, ...]
    version: Version | None = None

    @classmethod
    def of(cls, rows: Iterable[Mapping[str, Any]]) -> "ArgumentTable":
        """Build the table from the rows of data/arguments.toml."""
        arguments = {argument.name: argument for argument in map(_argument, rows)}
        flags: dict[str, Match] = {}
        for argument in arguments.values():
            for flag in argument.flags:
                flags[flag] = Match(argument, negated=False)
                if argument.no_since and flag.startswith("--"):
                    flags[f"--no-{flag[2:]}"] = Match(argument, negated=True)
        return cls(arguments, flags, tuple(sorted(flag for flag in flags if flag.startswith("--"))))

    def at(self, version: Version) -> "ArgumentTable":
        """Return the same table, in which a shortened flag means only what it can mean in this release."""
        return self._replace(version=version)

    def find(self, flag: str) -> Match | None:
        """Recognise a flag with dashes, whole or shortened as argparse allows; None if it is unknown or ambiguous."""
        if flag in self.flags:
            return self.flags[flag]
        candidates = {self.flags[known] for known in self.candidates(flag)}
        return candidates.pop() if len(candidates) == 1 else None

    def candidates(self, flag: str) -> tuple[str, ...]:
        """Return the flags that a shortened one may mean."""
        start = end = bisect_left(self.long_flags, flag)
        while end < len(self.long_flags) and self.long_flags[end].startswith(flag):
            end += 1
        version, found = self.version, self.long_flags[start:end] if len(flag) > len("--") else ()
        if version is None:
            return found
        return tuple(known for known in found if self.flags[known].argument.in_release(version))


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
