"""Instance types and variants for programs (data/schema: ``instance``)."""

from typing import Any

from oomedic.claim import Claim
from oomedic.reports.phrases import Phrasebook
from oomedic.search.answer import Answer
from oomedic.search.variants import Variant


def as_instance(answer: Answer, phrases: Phrasebook) -> dict[str, Any]:
    """Return an instance type that fits, with all that is needed to order and to start it."""
    instance, stored = answer.instance, answer.contender.format
    return {
        "type": instance.type,
        "gpus": instance.gpus,
        "gpu": instance.gpu.name,
        "gpu_memory": instance.gpu.memory._asdict(),
        "price_usd_per_hour": instance.price,
        "price_date": instance.price_date,
        "price_region": instance.region,
        "price_usd_per_hour_per_1k_context": answer.price_per_1k,
        "tensor_parallel_size": answer.split.tensor,
        "pipeline_parallel_size": answer.split.pipeline,
        "model": answer.contender.checkpoint.id,
        "quantization": None if stored is None or stored.key == "plain" else stored.name,
        "arguments": dict(answer.changes),
        "max_concurrency": None if answer.concurrency is None else round(answer.concurrency, 4),
        "vcpu": instance.vcpu,
        "host_memory": instance.memory,
        "local_disk_gb": instance.local_disk_gb,
        "interconnect": instance.interconnect,
        "capacity": instance.capacity,
        "warnings": [_warning(claim, phrases) for claim in answer.warnings],
    }


def as_variant(variant: Variant, phrases: Phrasebook) -> dict[str, Any]:
    """Return one way to have the model."""
    return {
        "model": variant.model,
        "known": variant.known,
        "format": variant.format,
        "weights": None if variant.weights is None else variant.weights._asdict(),
        "capability": _dotted(variant.capability),
        "native_capability": _dotted(variant.native),
        "quality": None if variant.quality is None else phrases.text(variant.quality),
        "source": variant.source,
    }


def _warning(claim: Claim, phrases: Phrasebook) -> dict[str, Any]:
    return {
        "message": claim.message,
        "parameters": dict(claim.parameters),
        "says": phrases.say(claim),
        "where": claim.where or None,
    }


def _dotted(capability: tuple[int, int] | None) -> str | None:
    return None if capability is None else f"{capability[0]}.{capability[1]}"
