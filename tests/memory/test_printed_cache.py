"""What the printed tokens tell of a printed pool. A block of 16 tokens of this model takes 16 x 2 KiB."""

import pytest

from oomedic.figure import printed_gib
from oomedic.memory.attention import CacheSpec, Request
from oomedic.memory.known import Known
from oomedic.memory.kv_plan import PlanRules, layout
from oomedic.memory.printed_cache import sharpened

BLOCK = 16 * 2048
RULES = PlanRules(grouped=True, need="all-groups", tokens_line="concurrency")
CUT = layout([CacheSpec("full", 16, BLOCK)], RULES)


def pool_of(gib, tokens):
    return sharpened(Known(pool=printed_gib(gib, "log:1"), tokens=tokens), CUT, Request(8192, 0), RULES)


@pytest.mark.parametrize("tokens", [16 * 38_300, 16 * 38_400, 16 * 38_464])
def test_a_pool_printed_with_two_decimals_is_as_exact_as_its_tokens(tokens):
    found = pool_of("1.17", tokens)
    assert (found.low, found.high) == (tokens * 2048, tokens * 2048 + BLOCK - 1)
    assert found.low <= found.value <= found.high
    assert found.where == "log:1"


@pytest.mark.parametrize("tokens", [16 * 20_000, 16 * 60_000, 16 * 38_400 + 1])
def test_tokens_that_no_pool_of_that_size_could_hold_change_nothing(tokens):
    assert pool_of("1.17", tokens) == printed_gib("1.17", "log:1")


def test_without_printed_tokens_the_pool_is_what_was_printed():
    assert pool_of("1.17", None) == printed_gib("1.17", "log:1")
