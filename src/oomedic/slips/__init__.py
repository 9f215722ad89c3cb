"""One file per slip: its docstring is its page, its ``find`` sees it in a manifest. Files know nothing of each other."""

from collections.abc import Iterable
from importlib import import_module

from oomedic.slip import Slip

__all__ = ["load"]


def load(modules: Iterable[str]) -> tuple[Slip, ...]:
    """Import some files by their names and return what they bind."""
    return tuple(import_module(f"{__name__}.{module}").find for module in modules)
