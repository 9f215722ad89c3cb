"""vLLM's version numbers: what a printed or tagged version says about the arithmetic behind it."""

import re
from functools import lru_cache
from typing import Final, NamedTuple

_VERSION: Final = re.compile(
    r"v?(?P<major>\d+)\.(?P<minor>\d+)(?:\.(?P<patch>\d+))?"
    r"(?:\.?(?P<stage>rc|a|b|post)\d*)?(?P<dev>\.dev\d*)?(?P<local>[+\-_].*)?$"
)
_PATCHES_ARE_FIXES_SINCE: Final = (0, 12)
"""Until 0.11 a third number was a release from main; later it only carries fixes of its minor."""


class Version(NamedTuple):
    """A vLLM release, in the order of its features."""

    major: int
    minor: int
    patch: int

    def __str__(self) -> str:
        """Write it as vLLM does."""
        return f"{self.major}.{self.minor}.{self.patch}"


@lru_cache(maxsize=1024)  # each look at the rules of a release reads the versions of all of them
def parse_version(text: str) -> Version | None:
    """Read a version as vLLM prints it, or as an image is tagged; None where it says nothing.

    A development build is counted as the release that it led to: ``0.14.0rc1.dev417`` is 0.14.0 and
    ``0.19.2rc1.dev205``, built from main after 0.19, is 0.20.0. ``0.1.dev…`` (no tags at hand) says nothing.

    >>> parse_version("0.10.1.1"), parse_version("v0.8.5.post1"), parse_version("0.19.2rc1.dev8+g4b7f5ea1a")
    (Version(major=0, minor=10, patch=1), Version(major=0, minor=8, patch=5), Version(major=0, minor=20, patch=0))
    """
    match = _VERSION.match(_without_fourth_number(text.strip()))
    if match is None:
        return None
    found = Version(int(match["major"]), int(match["minor"]), int(match["patch"] or 0))
    if not match["dev"]:
        return found
    if found < (0, 2, 0):
        return None
    if found.patch and (found.major, found.minor) >= _PATCHES_ARE_FIXES_SINCE:
        return Version(found.major, found.minor + 1, 0)
    return found


def _without_fourth_number(text: str) -> str:
    return re.sub(r"^(v?\d+\.\d+\.\d+)\.\d+", r"\1", text)
