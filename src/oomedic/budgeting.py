"""The budget of a configuration that need not run: for each card and release asked for."""

from collections.abc import Sequence

from oomedic.answer import result_of, versions_of
from oomedic.errors import UnknownName
from oomedic.question import Library, Question
from oomedic.result import Report
from oomedic.understanding import Life, evidence_of


def compute_budget(question: Question, library: Library, gpus: Sequence[str], versions: Sequence[str]) -> Report:
    """Compute the budget for each GPU and release asked for.

    Raises:
        OomedicError: when a name is not known or the model cannot be had.
    """
    results = []
    for gpu in gpus or (None,):
        for version in versions or (None,):
            options = question.options._replace(gpu=gpu, vllm=version)
            evidence = evidence_of(question._replace(options=options), library, Life())
            nothing = evidence.checkpoint is None and options.weights is None
            if nothing and evidence.requested_model is not None:
                trouble = library.hub.trouble if library.hub else "model-offline"
                raise UnknownName(trouble, name=evidence.requested_model, nearest=evidence.nearest_models)
            results.append(result_of(evidence, None, None, None))
    return Report(tuple(results), versions_of(library))
