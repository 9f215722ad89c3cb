"""One file per remedy: its docstring is its page, its ``propose`` names changes. Files know nothing of each other."""

from collections.abc import Iterable
from importlib import import_module

from oomedic.remedy import Remedy

__all__ = ["load"]


def load(modules: Iterable[str]) -> tuple[Remedy, ...]:
    """Import some remedy files by their names and return what they bind."""
    return tuple(import_module(f"{__name__}.{module}").propose for module in modules)
