"""What differs between the engine that worked and the one that crashes, and what each difference takes of the memory.

Every difference is taken back on its own and the crashed engine assessed anew: the one without which it starts is the
one that broke it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from oomedic.claim import Claim, claim
from oomedic.engine.config import EngineConfig, Setting
from oomedic.errors import OomedicError
from oomedic.evidence import Changed, Evidence
from oomedic.memory.assessment import Assessment
from oomedic.memory.known import Check, Known

_NOT_THE_ENGINE: Final = frozenset(
    (
        *(
            "model",
            "host",
            "port",
            "uds",
            "served_model_name",
            "api_key",
            "root_path",
            "download_dir",
            "seed",
            "config",
        ),
        *("chat_template", "tool_call_parser", "reasoning_parser", "enable_auto_tool_choice", "response_role"),
        *("uvicorn_log_level", "disable_log_requests", "disable_log_stats", "allowed_origins", "allowed_methods"),
        *("max_log_len", "enable_log_requests", "middleware", "ssl_keyfile", "ssl_certfile", "ssl_ca_certs"),
    )
)
"""Arguments of the server around the engine: they move no memory and refuse no configuration."""


def calibrated_by(evidence: Evidence, before: Evidence) -> Evidence:
    """Let what the engine that worked printed about its memory stand in where the crashed one printed nothing.

    Only where model, card and release are the same, as far as they are known: else its figures say nothing here.
    """
    config = evidence.config
    if config is None or _has_figures(evidence.known) or not _has_figures(before.known):
        return evidence
    pairs = zip(_identity(before), _identity(evidence), strict=True)
    if before.checkpoint is None or any(None not in pair and pair[0] != pair[1] for pair in pairs):
        return evidence
    known = before.known._replace(held_by_others=evidence.known.held_by_others or before.known.held_by_others)
    evidence = evidence._replace(known=known)
    try:
        return evidence._replace(assessment=evidence.assess(config))
    except OomedicError:
        return evidence


def changes(before: Evidence, after: Evidence) -> tuple[Changed, ...]:
    """Return the differences, those that broke it first, the most expensive first."""
    found = [_weighed(change, before, after) for change in _differences(before, after)]
    return tuple(sorted(found, key=lambda change: (not change.broke, -(change.cost or 0))))


def claims_of(found: Iterable[Changed], before: Evidence, after: Evidence) -> tuple[Claim, ...]:
    """Put the differences into claims: what broke it with its effect on the budget, then what else differs."""
    differences = tuple(found)
    if not differences:
        return (claim("before.same"),)
    failed = after.assessment.failed if after.assessment else None
    together = _together(differences, before, after)
    return (*(_claim(change, failed, alone=len(differences) == 1) for change in differences), *together)


def _has_figures(known: Known) -> bool:
    return any(figure is not None for figure in (known.weights, known.activation, known.cuda_graphs, known.pool))


def _claim(change: Changed, failed: Check | None, *, alone: bool) -> Claim:
    shown: dict[str, Any] = {"argument": change.name, "before": _shown(change.before), "after": _shown(change.after)}
    if failed is None or change.cost is None:
        return claim("before.only" if alone else "before.changed", **shown)
    missing = max(0, -failed.margin.value)
    if change.broke and failed.phase == "kv_check":
        return claim("before.broke-cache", missing=missing, **shown)
    if change.broke:
        return claim("before.broke", missing=missing, cost=change.cost, phase=failed.phase, **shown)
    if change.cost > 0:
        return claim("before.part", cost=change.cost, **shown)
    return claim("before.changed", **shown)


def _together(found: tuple[Changed, ...], before: Evidence, after: Evidence) -> tuple[Claim, ...]:
    """Say that only all of them together broke it, where none did alone."""
    taking = [change for change in found if change.cost is not None and change.cost > 0]
    if len(taking) < 2 or any(change.broke for change in found) or after.assessment is None:
        return ()
    try:
        undone = _undone(taking, before, after)
    except OomedicError:
        return ()
    if undone is None or undone.outcome != "starts":
        return ()
    return (claim("before.together", arguments=tuple(change.name for change in taking)),)


def _differences(before: Evidence, after: Evidence) -> Iterator[Changed]:
    for name, old, new in zip(("model", "gpu", "vllm"), _identity(before), _identity(after), strict=True):
        if old is not None and new is not None and old.lower() != new.lower():
            yield Changed(name, old, new)
    if before.config is None or after.config is None:
        return
    for name in sorted({*before.config.settings, *after.config.settings} - _NOT_THE_ENGINE):
        one, two = before.config.settings.get(name), after.config.settings.get(name)
        if _differs(one, two):
            yield Changed(name, one.value if one else None, two.value if two else None)


def _identity(evidence: Evidence) -> tuple[str | None, str | None, str | None]:
    """Return model, card and release, None where it is not known."""
    checkpoint, config = evidence.checkpoint, evidence.config
    model = evidence.requested_model or (checkpoint.id if checkpoint else None)
    release = str(config.rules.version) if config is not None and evidence.version_known else None
    return model, evidence.gpu.name if evidence.gpu else None, release


def _differs(one: Setting | None, two: Setting | None) -> bool:
    """Tell whether a setting was changed by someone: a default that follows from another setting was not."""
    origins = {setting.origin for setting in (one, two) if setting is not None}
    if origins <= {"default"}:
        return False
    if one is None or two is None:
        # a log prints defaults too: what stands there alone is none that anybody gave
        return origins == {"given"} and (one or two or Setting(None, "default", "")).value not in (None, False)
    return bool(one.value != two.value)


def _weighed(change: Changed, before: Evidence, after: Evidence) -> Changed:
    failed = after.assessment.failed if after.assessment else None
    if failed is None:
        return change
    try:
        undone = _undone([change], before, after)
    except OomedicError:
        return change
    if undone is None:
        return change
    margin = next((each.margin.value for each in undone.checks if _same(each, failed)), None)
    cost = None if margin is None else margin - failed.margin.value
    return change._replace(broke=undone.outcome == "starts", cost=cost)


def _same(one: Check, other: Check) -> bool:
    return (one.phase, one.what) == (other.phase, other.what)


def _undone(taken_back: Iterable[Changed], before: Evidence, after: Evidence) -> Assessment | None:
    """Assess the crashed engine without some differences, and without what follows from them."""
    if before.config is None or after.config is None:
        return None
    names = {change.name for change in taken_back}
    config = after.config
    if "vllm" in names:
        config = before.config.replaced(_given(after.config), "after")
    elif before.config.rules is after.config.rules:
        config = _with_settings(config, before.config, _following(before.config, after.config))
    config = _with_settings(config, before.config, names - {"model", "gpu", "vllm"})
    checkpoint = before.checkpoint if "model" in names else None
    return after.assess(config, checkpoint, before.gpu if "gpu" in names else None)


def _with_settings(config: EngineConfig, source: EngineConfig, names: Iterable[str]) -> EngineConfig:
    taken = {name: source.settings.get(name, Setting(None, "default", "")) for name in names}
    return config._replace(settings={**config.settings, **taken})


def _following(before: EngineConfig, after: EngineConfig) -> frozenset[str]:
    """Return the settings that nobody gave and that differ: defaults that follow from what was given."""
    return frozenset(
        name
        for name in before.settings.keys() & after.settings.keys()
        if before.settings[name].origin == after.settings[name].origin == "default"
        and before.settings[name].value != after.settings[name].value
    )


def _given(config: EngineConfig) -> Mapping[str, Any]:
    return {name: setting.value for name, setting in config.settings.items() if setting.origin != "default"}


def _shown(value: Any) -> str | int | float | bool | None:
    return value if isinstance(value, str | int | float | bool) or value is None else str(value)
