"""Options of the commands that reckon before anything runs."""

import argparse

from oomedic.entrypoints.options.groups import common, engine, prices


def budget_options(parser: argparse.ArgumentParser) -> None:
    """Add what a budget is computed from."""
    parser.add_argument(
        "--from-log",
        metavar="FILE",
        help="the log of a run: its figures hold, and after -- stands what shall be different",
    )
    parser.add_argument(
        "--sweep", action="append", default=[], metavar="ARG=V,V…", help="an argument's values in turn, as a table"
    )
    engine(parser)
    common(parser)


def plan_options(parser: argparse.ArgumentParser) -> None:
    """Add what is searched for, and at what price."""
    parser.add_argument("model", metavar="MODEL", help="a model's id, its folder or its config.json")
    parser.add_argument(
        "--context", metavar="TOKENS", help="length of one request; as vLLM reads it: 32k is 32000, 32K is 32768"
    )
    parser.add_argument("--concurrency", type=int, default=1, metavar="N", help="requests of that length at once (1)")
    parser.add_argument("--max-price", metavar="USD/h", help="the most that an hour may cost, such as 5/h")
    parser.add_argument("--gpus", metavar="NAME,…", help="only these GPUs, such as h100,l40s")
    parser.add_argument("--allow-quantized", action="store_true", help="offer copies in 8 or 4 bits, and an fp8 cache")
    prices(parser)
    group = parser.add_argument_group("engine options")
    group.add_argument("--vllm", metavar="VERSION", help="the vLLM version; the newest that is known without it")
    group.add_argument("--env", action="append", default=[], metavar="KEY=VALUE", help="a variable of the engine")
    common(parser)
