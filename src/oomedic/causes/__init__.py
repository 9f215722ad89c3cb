"""One file per cause: its docstring is its page, its ``match`` recognises it. Files know nothing of each other."""

from collections.abc import Iterable
from importlib import import_module

from oomedic.cause import Cause

__all__ = ["load"]


def load(modules: Iterable[str]) -> tuple[Cause, ...]:
    """Import some cause files by their names and return what they bind."""
    return tuple(import_module(f"{__name__}.{module}").match for module in modules)
