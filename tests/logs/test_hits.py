import tracemalloc

from ahocorasick_rs import BytesAhoCorasick
from hypothesis import given
from hypothesis import strategies as st

from oomedic.logs.hits import WINDOW, hits

NEEDLES = BytesAhoCorasick([b"needle", b"pin"])


def pieces(raw, size):
    return [raw[start : start + size] for start in range(0, len(raw), size)]


def test_a_line_is_found_once_with_all_its_literals():
    (hit,) = hits([b"a\nb needle c pin\nd"], NEEDLES)
    assert (hit.number, hit.raw, hit.literals) == (2, b"b needle c pin", frozenset({0, 1}))


def test_the_lines_around_are_known():
    (hit,) = hits([b"a\nb\nneedle\nc\nd\n"], NEEDLES)
    assert hit.preceding(2) == [b"a", b"b"]
    assert hit.preceding(9) == [b"a", b"b"]
    assert hit.following(1) == [b"c"]
    assert hit.following(9) == [b"c", b"d"]


def test_a_hit_that_is_kept_says_the_same():
    (hit,) = hits([b"a\n" * 9000 + b"b\nneedle\nc\n" + b"d\n" * 9000], NEEDLES)
    alone = hit.alone()
    assert (alone.raw, alone.preceding(2), alone.following(2)) == (b"needle", [b"a", b"b"], [b"c", b"d"])
    assert len(alone.buffer) < 10_000


@given(
    st.lists(st.sampled_from([b"needle", b"pin", b"x" * 50, b"", b"needle pin needle", b"\r"]), max_size=60),
    st.integers(1, 40),
)
def test_the_size_of_the_chunks_does_not_matter(rows, size):
    raw = b"\n".join(rows)
    expected = [(number, row) for number, row in enumerate(raw.split(b"\n"), 1) if b"needle" in row or b"pin" in row]
    assert [(hit.number, hit.raw) for hit in hits(pieces(raw, size), NEEDLES)] == expected


def test_lines_keep_their_numbers_over_many_blocks():
    row = b"x" * 99 + b"\n"
    raw = (row * 7 + b"needle\n") * 6000
    numbers = [hit.number for hit in hits(pieces(raw, 64 * 1024), NEEDLES)]
    assert numbers == [8 * count for count in range(1, 6001)]


def test_of_an_endless_line_only_windows_are_seen():
    filler = b"y" * (1 << 20)
    found = list(
        hits([b"first\n", *[filler] * 8, b" needle ", *[filler] * 8, b" pin ", filler, b"\nlast needle\n"], NEEDLES)
    )
    assert [(hit.number, sorted(hit.literals)) for hit in found] == [(2, [0]), (2, [1]), (3, [0])]
    assert all(len(hit.raw) <= 2 * WINDOW + 16 for hit in found)


def test_memory_does_not_grow_with_the_log():
    def endless(count):
        for _ in range(count):
            yield b"nothing to see here\n" * 5000 + b"a needle\n"

    def peak(count):
        tracemalloc.start()
        for _ in hits(endless(count), NEEDLES):
            pass
        size = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return size

    assert peak(400) < 1.5 * peak(100)
