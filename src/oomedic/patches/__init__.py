"""Forms in which a change of manifests is shown: one module per form, each with ``render(changed)``."""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from oomedic.patches.changed import Changed

FORMS: Final = ("diff", "jsonpatch", "strategic", "kustomize", "helm-set")
"""As ``oomedic patch -o`` names them; the module is named alike."""


def rendered(changed: "Changed", form: str) -> str:
    """Return a change in one of the forms.

    Raises:
        InputError: ``patch-form-unfit`` or ``patch-secret``.
    """
    render: Callable[[Changed], str] = import_module(f"{__name__}.{form.replace('-', '_')}").render
    return render(changed)
