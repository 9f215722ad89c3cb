"""What one vLLM release does: its defaults and its arithmetic, folded from the files of all releases up to it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from oomedic.version import Version, parse_version

_TABLES: Final = ("defaults", "v0", "v1", "graphs", "cache", "weights", "counted", "runner_v2")

Table = Mapping[str, Any]


class EngineRules(NamedTuple):
    """The tables of ``data/engines`` as they hold for one release.

    ``version`` is the release asked for, ``changed`` the newest release whose file took part, ``newest`` the newest
    that there is a file for. ``sources`` tells for each table's key which release's file it comes from.
    """

    version: Version
    changed: Version
    defaults: Table
    v0: Table
    v1: Table
    graphs: Table
    cache: Table
    weights: Table
    counted: Table
    runner_v2: Table
    sources: Mapping[str, Version]
    newest: Version

    def where(self, table: str, key: str) -> str:
        """Name the file that a value comes from, as figures point at it."""
        return f"engines/{self.sources.get(f'{table}.{key}', self.changed)}.toml:{table}.{key}"


def rules_at(version: Version, rows: Sequence[Table], platform: str | None = None) -> EngineRules:
    """Fold the rows of all releases up to ``version``; a release older than the first gets the first.

    Args:
        version: the release asked for.
        rows: one table per file of data/engines, each with its ``version``, in any order.
        platform: "cpu" where it is known to run there: tables like ``[cpu.cache]`` then outrank ``[cache]``.
    """
    ordered = _ordered(rows)
    if not ordered:
        raise ValueError("no engine rows")
    held = [(release, row) for release, row in ordered if release <= version] or ordered[:1]
    own = [(release, row.get(platform, {})) for release, row in held] if platform else []
    merged: dict[str, dict[str, Any]] = {name: {} for name in _TABLES}
    sources: dict[str, Version] = {}
    for release, row in (*held, *own):
        for name in _TABLES:
            for key, value in row.get(name, {}).items():
                merged[name][key] = value
                sources[f"{name}.{key}"] = release
    return EngineRules(version, held[-1][0], **merged, sources=sources, newest=ordered[-1][0])


def releases(rows: Iterable[Table]) -> tuple[Version, ...]:
    """Return the releases in which something changed, oldest first."""
    return tuple(release for release, _ in _ordered(rows))


def eras(rows: Iterable[Table]) -> tuple[tuple[Version, str], ...]:
    """Return the releases that begin an era, with its name, oldest first."""
    return tuple((release, str(row["era"])) for release, row in _ordered(rows) if "era" in row)


def _ordered(rows: Iterable[Table]) -> list[tuple[Version, Table]]:
    known = ((parse_version(str(row["version"])), row) for row in rows)
    return sorted(((version, row) for version, row in known if version), key=lambda pair: pair[0])
