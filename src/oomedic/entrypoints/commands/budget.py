"""oomedic budget: where the GPU's memory goes, computed for one or several releases and cards."""

from typing import TYPE_CHECKING

from oomedic.budgeting import compute_budget
from oomedic.entrypoints.commands.asking import engine_args, engine_options, given_checkpoint, library
from oomedic.entrypoints.terminal import catalogue, show
from oomedic.question import Question

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: "Namespace") -> int:
    """Compute and return the exit status: 0 whether it starts or not, for the budget was what was asked."""
    facts = catalogue(options)
    question = Question(
        command=engine_args(options, facts),
        options=engine_options(options),
        checkpoint=given_checkpoint(options),
    )
    gpus = options.gpu.split(",") if options.gpu else ()
    versions = options.vllm.split(",") if options.vllm else ()
    report = compute_budget(question, library(options, facts), gpus, versions)
    show(report, options, facts)
    return 0
