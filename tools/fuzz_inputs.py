"""Generated and mutated inputs for tools/fuzz.py: the same number always gives the same question."""

import json
import random
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from oomedic.arguments.reader import EngineArgs, merge, read_argv, relevant_environment, words_of
from oomedic.catalogue import Catalogue
from oomedic.gathering.gather import EngineOptions
from oomedic.observed.reading import Beside
from oomedic.observed.recognition import kind_of_file
from oomedic.question import Log, Manifest, Question

ROOT: Final = Path(__file__).resolve().parent.parent
SECRETS: Final = ("sk-CANARYq7Zx81LmN", "hf_CANARYq7Zx81LmNoPq", "CANARY-plain-words")
_MARKS: Final = (
    b"\r",
    b"\r\n",
    b"\n",
    b"\0",
    b"\x1b[0m",
    b"\x1b[",
    b"\xff",
    b"\xc3",
    b"\t",
    b'"',
    b"'",
    b"{",
    b"}",
    b"\\",
)
_NUMBERS: Final = (b"0", b"-1", b"1", b"99999999999999999999", b"1e999", b"NaN", b"0.0", b"9" * 400, b"1,2,3", b"")
_BAIT: Final = (
    b"a",
    b"(",
    b"[",
    b"{'",
    b"1",
    b"1.",
    b" ",
    b"=",
    b"'a': ",
    b"GiB ",
    b"(1 ",
    b"\\",
    b'\\"',
    b"%",
    b"--a ",
)
_ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "--max-model-len": ("0", "1", "4096", "32k", "1M", "-1", "auto", "999999999999", "x"),
    "--gpu-memory-utilization": ("0", "0.5", "0.9", "1", "1.5", "-1", "nan", "x"),
    "--max-num-seqs": ("0", "1", "256", "100000", "x"),
    "--max-num-batched-tokens": ("1", "8192", "9999999"),
    "--tensor-parallel-size": ("0", "1", "2", "3", "8", "1024", "-4"),
    "--pipeline-parallel-size": ("1", "2", "7"),
    "--kv-cache-dtype": ("auto", "fp8", "fp8_e5m2", "float7"),
    "--quantization": ("awq", "gptq", "fp8", "nonsense"),
    "--dtype": ("auto", "half", "float32", "int3"),
    "--cpu-offload-gb": ("0", "10", "1e9", "-3"),
    "--block-size": ("1", "16", "17", "0"),
    "--swap-space": ("0", "4", "1e12"),
    "--speculative-config": ('{"method": "ngram"}', "{", '{"model": "x", "num_speculative_tokens": -5}'),
    "--limit-mm-per-prompt": ('{"image": 4}', "image=2", "]"),
    "--kv-cache-memory-bytes": ("1", "8589934592", "8G"),
    "--num-gpu-blocks-override": ("0", "1", "100000"),
}
_FLAGS: Final = (
    "--enforce-eager",
    "--enable-lora",
    "--enable-expert-parallel",
    "--trust-remote-code",
    "--no-such-flag",
)
_VERSIONS: Final = (None, "0.4.2", "0.6.6", "0.8.5", "0.9.2", "0.11.0", "0.14.1", "0.20.0", "0.33.0", "9.9.9")
_GPUS: Final = (None, "A10G", "H100", "T4", "A100-SXM4-80GB", "MI300X", "L4")


class Corpus(NamedTuple):
    """What is mutated: logs, lines that signatures know, manifests, and files beside the log; names of models."""

    logs: tuple[bytes, ...]
    lines: tuple[bytes, ...]
    manifests: tuple[str, ...]
    beside: tuple[str, ...]
    models: tuple[str, ...]


def corpus(catalogue: Catalogue, real_logs: Iterator[bytes]) -> Corpus:
    """Read the project's own logs, samples and manifests."""
    cases = (ROOT / "tests/cases/crashes.jsonl").read_text(encoding="utf-8").splitlines()
    excerpts = ("\n".join(json.loads(case)["log_excerpt"]).encode() for case in cases)
    fixtures = (path.read_bytes() for path in sorted((ROOT / "tests/formats").glob("*.log")))
    tables = (
        tomllib.loads(path.read_text(encoding="utf-8"))
        for path in sorted((ROOT / "src/oomedic/data/signatures").glob("*.toml"))
    )
    return Corpus(
        (*real_logs, *excerpts, *fixtures),
        tuple(sample["line"].encode() for table in tables for sample in table["sample"]),
        tuple(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests/manifests").glob("*.yaml"))),
        tuple(path.read_text(encoding="utf-8") for path in sorted((ROOT / "tests/observed/samples").iterdir())),
        catalogue.models(),
    )


def question(number: int, seed: int, found: Corpus, catalogue: Catalogue) -> Question:
    """Return the question of a number: a mutated log mostly, with arguments, manifests and other files beside it."""
    chance = random.Random(f"{seed}-{number}")  # noqa: S311 - the same number must give the same input
    logs = (Log("fuzz", _pieces(chance, log(chance, found))),) if chance.random() < 0.92 else ()
    command = arguments(chance, found, catalogue) if chance.random() < 0.25 or not logs else EngineArgs({})
    manifests = (
        (Manifest("fuzz.yaml", mutated(chance, chance.choice(found.manifests))),) if chance.random() < 0.1 else ()
    )
    options = (
        EngineOptions(gpu=chance.choice(_GPUS), vllm=chance.choice(_VERSIONS))
        if chance.random() < 0.3
        else EngineOptions()
    )
    asked = Question(logs, manifests, command, options, None, tuple(_beside(chance, found)))
    if chance.random() < 0.03:
        return asked._replace(before=question(number + 10**9, seed, found, catalogue)._replace(before=None))
    return asked


def log(chance: random.Random, found: Corpus) -> bytes:
    """Return one log: mutated, generated or made of lines that signatures know; secrets stand in it untouched."""
    kind = chance.random()
    if kind < 0.6:
        text = chance.choice(found.logs)
    elif kind < 0.9:
        text = b"\n".join(chance.choice(found.lines) for _ in range(chance.randint(1, 40)))
    else:
        text = b"".join(chance.choice(_BAIT) * chance.randint(1, 4000) for _ in range(chance.randint(1, 6)))
    for _ in range(chance.randint(0, 6)):
        text = chance.choice(_MUTATIONS)(chance, text, found)
    lines = text[:400_000].split(b"\n")
    for secret in _secret_lines(chance):
        lines.insert(chance.randint(0, len(lines)), secret)
    return b"\n".join(lines)


def arguments(chance: random.Random, found: Corpus, catalogue: Catalogue) -> EngineArgs:
    """Return a command line, senseless ones among them."""
    words = ["vllm", "serve", chance.choice(found.models) if chance.random() < 0.8 else "nobody/nothing-7B"]
    for _ in range(chance.randint(0, 6)):
        if chance.random() < 0.2:
            words.append(chance.choice(_FLAGS))
            continue
        name = chance.choice(tuple(_ARGUMENTS))
        words += [name, chance.choice(_ARGUMENTS[name])]
    words += ["--api-key", chance.choice(SECRETS)]
    environment = {"HF_TOKEN": SECRETS[1], "VLLM_API_KEY": SECRETS[2], "VLLM_USE_V1": chance.choice("01x")}
    given = read_argv(words_of(*words), catalogue.arguments)
    return merge(given, EngineArgs({}, relevant_environment(environment)))


def mutated(chance: random.Random, text: str) -> str:
    """Return a text with some lines gone, doubled, moved or indented anew."""
    lines = text.splitlines()
    for _ in range(chance.randint(0, 3)):
        if not lines:
            break
        place = chance.randrange(len(lines))
        change = chance.randrange(4)
        if change == 0:
            del lines[place]
        elif change == 1:
            lines.insert(place, lines[chance.randrange(len(lines))])
        elif change == 2:
            lines[place] = " " * chance.randint(0, 4) + lines[place]
        else:
            lines[place] = lines[place][: chance.randint(0, len(lines[place]))]
    return "\n".join(lines) + "\n"


def _beside(chance: random.Random, found: Corpus) -> Iterator[Beside]:
    while chance.random() < 0.1:
        text = mutated(chance, chance.choice(found.beside))
        yield Beside("fuzz", text, kind_of_file("fuzz", text))


def _pieces(chance: random.Random, text: bytes) -> list[bytes]:
    size = chance.choice((7, 4096, len(text) + 1)) if len(text) < 20_000 else len(text)
    return [text[at : at + size] for at in range(0, len(text), size)]


def _secret_lines(chance: random.Random) -> Iterator[bytes]:
    one, two, three = SECRETS
    lines = (
        f"(APIServer pid=1) INFO 10-12 [utils.py:1] non-default args: {{'model': 'm', 'api_key': ['{three}']}}",
        f"args: Namespace(host=None, api_key='{one}', model='m', hf_token='{two}', max_model_len=4096)",
        f"vllm serve m --api-key {three} --max-model-len 4096",
        f"huggingface_hub.errors.GatedRepoError: 401 Client Error. Authorization: Bearer {two}",
        f"ValueError: could not reach https://user:{three}@example.org/ with HF_TOKEN={two}",
        f"vllm: error: unrecognized arguments: --token {one}",
    )
    return (chance.choice(lines).encode() for _ in range(chance.randint(0, 2)))


Mutation = Callable[[random.Random, bytes, Corpus], bytes]


def _cut(chance: random.Random, text: bytes, _: Corpus) -> bytes:
    low, high = sorted(chance.randint(0, len(text)) for _ in range(2))
    return text[low:high] if chance.random() < 0.5 else text[:low] + text[high:]


def _insert(chance: random.Random, text: bytes, _: Corpus) -> bytes:
    place = chance.randint(0, len(text))
    return text[:place] + chance.choice(_MARKS) * chance.choice((1, 3, 500)) + text[place:]


def _bait(chance: random.Random, text: bytes, _: Corpus) -> bytes:
    place = chance.randint(0, len(text))
    return text[:place] + chance.choice(_BAIT) * chance.randint(1, 20_000) + text[place:]


def _flip(chance: random.Random, text: bytes, _: Corpus) -> bytes:
    flipped = bytearray(text)
    for _ in range(min(len(flipped), chance.randint(1, 30))):
        flipped[chance.randrange(len(flipped))] = chance.randrange(256)
    return bytes(flipped)


def _renumber(chance: random.Random, text: bytes, _: Corpus) -> bytes:
    words = text.split(b" ")
    digits = [place for place, word in enumerate(words) if any(48 <= byte < 58 for byte in word)]
    for place in chance.sample(digits, min(len(digits), chance.randint(1, 5))):
        words[place] = chance.choice(_NUMBERS)
    return b" ".join(words)


def _shuffle(chance: random.Random, text: bytes, _: Corpus) -> bytes:
    lines = text.split(b"\n")
    chance.shuffle(lines)
    return b"\n".join(lines)


def _splice(chance: random.Random, text: bytes, found: Corpus) -> bytes:
    place = chance.randint(0, len(text))
    return text[:place] + chance.choice((*found.lines, chance.choice(found.logs))) + text[place:]


def _wrap(chance: random.Random, text: bytes, _: Corpus) -> bytes:
    """Put each line into a record, or all of them into one."""
    lines = text[:60_000].decode("utf-8", "replace").split("\n")
    if chance.random() < 0.2:
        return json.dumps({"events": [{"message": line} for line in lines]}).encode()
    return "\n".join(json.dumps({"log": line, "stream": "stderr"}) for line in lines).encode()


def _repeat(chance: random.Random, text: bytes, _: Corpus) -> bytes:
    return (text[:20_000] + b"\n") * chance.randint(2, 6)


_MUTATIONS: Final[tuple[Mutation, ...]] = (
    *(_cut, _insert, _bait, _flip, _renumber, _shuffle, _splice, _wrap, _repeat),
)
