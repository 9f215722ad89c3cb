"""oomedic: the remedy for a vLLM pod that crash-loops on GPU memory.

    import oomedic
    report = oomedic.diagnose(logs="previous.log", manifest="deployment.yaml")
    report.results[0].diagnosis.findings[0].code

The promised names are loaded when they are first used, so that ``import oomedic`` stays as quick as plain Python.
"""

__version__ = "0.1.0"

__all__ = [
    "Bytes",
    "Figure",
    "Finding",
    "OomedicError",
    "Plan",
    "Report",
    "Result",
    "budget",
    "diagnose",
    "explain",
    "plan",
]

_HOMES = {
    "Bytes": "oomedic.units",
    "Figure": "oomedic.figure",
    "Finding": "oomedic.finding",
    "OomedicError": "oomedic.errors",
    "Plan": "oomedic.planning.plan",
    "Report": "oomedic.result",
    "Result": "oomedic.result",
    "budget": "oomedic.entrypoints.library",
    "diagnose": "oomedic.entrypoints.library",
    "explain": "oomedic.entrypoints.library",
    "plan": "oomedic.entrypoints.library",
}

TYPE_CHECKING = False  # importing typing for its own constant takes as long as starting Python
if TYPE_CHECKING:
    from oomedic.entrypoints.library import budget, diagnose, explain, plan
    from oomedic.errors import OomedicError
    from oomedic.figure import Figure
    from oomedic.finding import Finding
    from oomedic.planning.plan import Plan
    from oomedic.result import Report, Result
    from oomedic.units import Bytes


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)
