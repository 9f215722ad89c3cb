"""Start vLLM many times at little cost; run by the Python that vLLM is installed for.

Two thirds of a start are imports, so they are done once; each start is a copy of this process. Reads one JSON object a
line, ``{"log": FILE, "variables": {…}}`` with either ``"serve": [WORD, …]``, which runs ``vllm serve WORD …``, or
``"engine": {…}``, which starts an engine with these arguments inside the copy and ends when it is ready. Answers each
with a line that is the exit status.
"""

import json
import os
import sys
import traceback
from importlib import import_module

IMPORTED = (
    "vllm.entrypoints.cli.main",
    "vllm.entrypoints.openai.api_server",
    "vllm.model_executor.models.gemma3",
    "vllm.model_executor.models.llama",
    "vllm.v1.engine.async_llm",
    "vllm.v1.engine.core",
    "vllm.v1.worker.cpu_worker",
)


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the imports print is no answer
    for name in IMPORTED:
        import_module(name)
    for line in sys.stdin:
        copy = os.fork()
        if copy == 0:
            run(json.loads(line))
        _, status = os.waitpid(copy, 0)
        print(os.waitstatus_to_exitcode(status), file=answers, flush=True)


def run(start):
    """Run one start in this copy of the process, which ends with it."""
    log = os.open(start["log"], os.O_CREAT | os.O_WRONLY)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.environ.update(start["variables"])
    status = 1
    try:
        serve(start["serve"]) if "serve" in start else engine(start["engine"])
        status = 0
    except SystemExit as left:
        status = left.code if isinstance(left.code, int) else 1
    except BaseException:  # noqa: BLE001 - shown as Python shows what ends a program
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def serve(words):
    sys.argv = ["vllm", "serve", *words]
    import_module("vllm.entrypoints.cli.main").main()


def engine(arguments):
    os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
    import_module("vllm").LLM(**arguments)


if __name__ == "__main__":
    main()
