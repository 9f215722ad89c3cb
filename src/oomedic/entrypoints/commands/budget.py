"""oomedic budget: where the GPU's memory goes, computed for one or several releases, cards and values of arguments."""

from typing import TYPE_CHECKING

from oomedic.arguments.sweep import read_sweep
from oomedic.budgeting import compute_budget
from oomedic.entrypoints.commands.asking import engine_args, engine_options, given_checkpoint, library
from oomedic.entrypoints.terminal import catalogue, show, show_comparison
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
    if options.from_log:
        from oomedic.sources.files import open_log  # only where a run is changed

        question = question._replace(logs=(open_log(options.from_log),))
    gpus = options.gpu.split(",") if options.gpu else ()
    versions = options.vllm.split(",") if options.vllm else ()
    sweep = [read_sweep(text, facts.arguments) for text in options.sweep]
    report = compute_budget(question, library(options, facts), gpus, versions, sweep)
    if len(report.results) > 1:
        show_comparison(report, options, facts)
    else:
        show(report, options, facts)
    return 0
