"""Which known model is meant by a name that is not known: misspelt, without its organisation, or a local path.

Names are compared twice: by their parts ("llama", "31", "8b", "instruct"), of which those with digits tell models
apart, and by the pairs of letters of the whole, which forgives typing errors.
"""

import re
from collections.abc import Callable, Container, Iterable, Sequence
from typing import Final

_CACHED: Final = re.compile(r"(?:^|/)models--([^/]+?)--([^/]+)")
_REVISION: Final = re.compile(r"[0-9a-f]{7,64}")
_NUMBERED: Final = re.compile(r"(?<=\d)(?:[._](?=\d)|-(?=\d+(?:[-._]|$)))")
_OTHERS: Final = re.compile(r"[^a-z0-9]")
_PLACES: Final = re.compile(
    r"\.?(?:app|bucket|cache|checkpoints?|data|final|hf|hub|huggingface|latest|llms?|main|merged|mnt|model|models"
    r"|model-cache|opt|output|root|shared?|snapshots|srv|tmp|usr|var|volume|weights|workspace)"
)
_STORAGE: Final = (
    r"(?:\d+g|[2-8]bit|asym|auto|autoround|awq|bf16|block|bnb|dynamic|exl[23]|f16|fp16|fp4|fp8|g\d+|gguf|gptq|int[48]"
    r"|marlin|mtp|mxfp4|nvfp4|quantized|round|static|sym|ud|unsloth|w[48]a(?:4|8|16)|i?q\d(?:_(?:[01kms]|x{0,3}[sl]))*)"
)
"""Words of a name that say how weights are stored, not which."""
_STORED: Final = re.compile(rf"[-_. ]+({_STORAGE})$")
_IS_STORAGE: Final = re.compile(_STORAGE)
_PART: Final = re.compile(rf"(?<![a-z0-9]){_STORAGE}(?![a-z0-9])|[a-z]{{3,}}(?=\d)|[a-z0-9]+")
_COMMON: Final = frozenset(("base", "chat", "instruct", "mini", "small"))
_CUTOFF: Final = 0.55
_ENDINGS: Final = 0.4
_SAME_OWNER: Final = 0.05
_SHORT_WORD: Final = 2
_STORAGE_WEIGHT: Final = 0.3


def split_name(text: str) -> tuple[str, str]:
    """Return organisation and name of an id, a path, a bucket URL or a folder of the Hugging Face cache.

    >>> split_name("/root/.cache/huggingface/hub/models--Qwen--Qwen2.5-7B-Instruct/snapshots/a09a35458c702b33")
    ('qwen', 'qwen2.5-7b-instruct')
    >>> split_name("/models/qwen2.5-7b-instruct/"), split_name("meta-llama/Llama-3.1-8B")
    (('', 'qwen2.5-7b-instruct'), ('meta-llama', 'llama-3.1-8b'))
    """
    lower = text.strip().strip("'\"").lower()
    cached = _CACHED.search(lower)
    if cached:
        return cached[1], cached[2]
    parts = [part for part in re.split(r"[/\\]+", lower.partition("://")[2] or lower) if part not in {"", ".", ".."}]
    telling = [part for part in parts if not _is_place(part)]
    if not telling:
        return "", ""
    name = telling[-1].removesuffix(".gguf").partition("@")[0].partition(":")[0]
    direct = len(telling) > 1 and parts.index(telling[-1]) == parts.index(telling[-2]) + 1
    return (telling[-2] if direct else ""), name


def split_storage(name: str) -> tuple[str, tuple[str, ...]]:
    """Part a name from the words at its end that say how the weights are stored.

    >>> split_storage("qwen3.6-27b-autoround-int4"), split_storage("qwen2-72b-instruct-quantized.w8a16")
    (('qwen3.6-27b', ('autoround', 'int4')), ('qwen2-72b-instruct', ('quantized', 'w8a16')))
    """
    words: tuple[str, ...] = ()
    while found := _STORED.search(name):
        name, words = name[: found.start()], (found[1], *words)
    return name, words


def nearest_names(wanted: str, known: Sequence[str], count: int, mirrors: Container[str] = ()) -> tuple[str, ...]:
    """Return the known ids that are most like ``wanted``, the likest first; none when nothing is like it.

    Of equals, those of ``mirrors`` come last: organisations that publish others' models again.
    """
    organisation, name = split_name(wanted)
    parts, pairs = _parts(name), _pairs(split_storage(name)[0])
    if not parts:
        return ()
    scored = []
    for candidate in _family(parts, known):
        owner, _, other = candidate.partition("/")
        by_parts = _likeness(parts, _parts(other), _weight)
        if by_parts < _CUTOFF / 2:
            continue
        by_pairs = _likeness(pairs, _pairs(split_storage(other)[0]), len)
        score = (by_parts + by_pairs) / 2
        if score >= _CUTOFF:
            bonus = _SAME_OWNER if owner == organisation else -_SAME_OWNER if owner in mirrors else 0.0
            scored.append((-score - bonus, len(candidate), candidate))
    return tuple(candidate for *_, candidate in sorted(scored)[:count])


def is_extension_of(candidate: str, wanted: str) -> bool:
    """Tell whether an id says all that a name says, and more: what people leave out when they write from memory.

    >>> is_extension_of("meta-llama/Llama-4-Scout-17B-16E-Instruct", "meta-llama/Llama-4-Scout-17B-Instruct")
    True
    """
    owner, name = split_name(wanted.lower())
    other_owner, _, other = candidate.lower().partition("/")
    if owner and owner != other_owner:
        return False
    said = _parts(name)
    return bool(said) and len(said) > 1 and said <= _parts(other)


def _family(parts: Iterable[str], known: Sequence[str]) -> Sequence[str]:
    """Return the ids that hold a word of the name ("qwen"): to compare a few hundred takes a tenth of the time."""
    words = [part for part in parts if part.isalpha() and len(part) > _SHORT_WORD and part not in _COMMON]
    same = [candidate for candidate in known if any(word in candidate for word in words)]
    return same or known


def _likeness(wanted: frozenset[str], other: frozenset[str], size: Callable[[frozenset[str]], float]) -> float:
    """Compare two sets; what only the other has counts less, because people leave endings out (Tversky's index)."""
    shared = size(wanted & other)
    return shared / (shared + size(wanted - other) + _ENDINGS * size(other - wanted)) if shared else 0.0


def _is_place(part: str) -> bool:
    return bool(_PLACES.fullmatch(part)) or (bool(_REVISION.fullmatch(part)) and not part.isalpha())


def _parts(name: str) -> frozenset[str]:
    return frozenset(_PART.findall(_NUMBERED.sub("", name)))


def _weight(parts: Iterable[str]) -> float:
    return sum(_STORAGE_WEIGHT if _IS_STORAGE.fullmatch(part) else 1.0 if part.isalpha() else 1.5 for part in parts)


def _pairs(name: str) -> frozenset[str]:
    letters = _OTHERS.sub("", name)
    return frozenset([letters[place : place + 2] for place in range(len(letters) - 1)])
