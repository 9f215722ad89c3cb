"""oomedic plan: which instance types run a model, and at what price."""

from typing import TYPE_CHECKING

from oomedic.entrypoints.commands.asking import engine_args, given_checkpoint, library
from oomedic.entrypoints.commands.pricing import given_prices
from oomedic.entrypoints.terminal import catalogue, show_instances
from oomedic.errors import UsageError
from oomedic.gathering.gather import EngineOptions
from oomedic.question import Question
from oomedic.sizing import Order, plan_instances
from oomedic.units import parse_count
from oomedic.version import parse_version

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: "Namespace") -> int:
    """Search and return the exit status: 0 when an instance type fits, 1 when none does."""
    facts = catalogue(options)
    if options.vllm and parse_version(options.vllm) is None:
        raise UsageError("version-unreadable", text=options.vllm)
    question = Question(
        command=engine_args(options, facts),
        options=EngineOptions(vllm=options.vllm),
        checkpoint=given_checkpoint(options),
    )
    report = plan_instances(question, library(options, facts), _order(options))
    show_instances(report, options)
    return 0 if report.results else 1


def _order(options: "Namespace") -> Order:
    if options.concurrency < 1:
        raise _unreadable("--concurrency", str(options.concurrency))
    return Order(
        context=_context(options.context),
        concurrency=options.concurrency,
        max_price=_price(options.max_price),
        region=options.region,
        gpus=tuple(name for name in (options.gpus or "").split(",") if name),
        allow_quantized=options.allow_quantized,
        prices=given_prices(options),
    )


def _context(text: str | None) -> int | None:
    tokens = None if text is None else parse_count(text)
    if tokens is not None and tokens < 1:
        raise _unreadable("--context", str(text))
    return tokens


def _price(text: str | None) -> float | None:
    """Read "5", "5/h", "$5.50/h"."""
    if text is None:
        return None
    try:
        price = float(text.strip().removeprefix("$").removesuffix("/h"))
    except ValueError:
        raise _unreadable("--max-price", text) from None
    if not price > 0:  # not a number is not above zero either
        raise _unreadable("--max-price", text)
    return price


def _unreadable(option: str, text: str) -> UsageError:
    return UsageError("option-unreadable", option=option, text=text, command="plan")
