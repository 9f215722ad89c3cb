"""One crash in every format in which logs really come: the finding is always the same."""

import gzip
import io
import itertools
import json
import re
import tarfile
from pathlib import Path

import pytest

import oomedic

FOLDER = Path(__file__).parent / "formats"
CRASHES = {path.stem: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.log"))}
NEIGHBOUR = (
    "INFO 10-12 09:02:01 [__init__.py:216] Automatically detected platform cuda.\n"
    "(APIServer pid=1) INFO 10-12 09:02:05 [api_server.py:1839] vLLM API server version 0.11.0\n"
    "(EngineCore_DP0 pid=99) ERROR 10-12 09:02:20 [core.py:708] ValueError: Free memory on device (1.57/22.06 GiB) on "
    "startup is less than desired GPU memory utilization (0.9, 19.85 GiB). Decrease GPU memory utilization or reduce "
    "GPU memory used by other processes.\n"
)


def stamp(number):
    return f"2026-10-12T09:{number // 60:02d}:{number % 60:02d}.{number:09d}Z"


def each(form):
    """A format that wraps every line: ``form(line, time)``."""
    return lambda log: joined(form(line, stamp(number)) for number, line in enumerate(log.splitlines()))


def joined(lines):
    return "\n".join(lines) + "\n"


def coloured(line):
    """As vLLM prints to a terminal: the process in cyan, the level in its colour."""
    line = re.sub(r"^\((\w+ pid=\d+)\)", "\x1b[1;36m(\\1)\x1b[0;0m", line)
    return re.sub(r"\b(INFO|ERROR)\b", "\x1b[32m\\1\x1b[0m", line)


def containerd(size=None):
    """As containerd writes it, long lines in parts."""

    def form(line, time):
        step = size or max(len(line), 1)
        parts = [line[at : at + step] for at in range(0, max(len(line), 1), step)]
        tags = "P" * (len(parts) - 1) + "F"
        return "\n".join(f"{time} stderr {tag} {part}" for tag, part in zip(tags, parts, strict=True))

    return each(form)


def docker(line, time):
    return json.dumps({"log": line + "\n", "stream": "stderr", "time": time})


def fluent_bit(line, time):
    record = {"@timestamp": time, "stream": "stderr", "_p": "F", "log": line}
    return json.dumps(record | {"kubernetes": {"pod_name": "vllm-0", "labels": {"app": "vllm"}, "container_name": "v"}})


def ruby(line, _):
    """Fluent Bit's own print: hashes as Ruby writes them."""
    return '[0] kube.var.log: [[1760259600.1, {}], {"stream"=>"stderr", "log"=>' + json.dumps(line) + "}]"


def csv(line, time):
    quoted = line.replace('"', '""')
    return f'{time[:10]} {time[11:23]},"{quoted}"'


def records(form, **style):
    """A format that is one JSON text: ``form(list of (line, time))``."""
    return lambda log: json.dumps(form([(line, stamp(n)) for n, line in enumerate(log.splitlines())]), **style)


def loki(lines):
    values = [[f"17602596{number:011d}", line] for number, (line, _) in enumerate(lines)]
    return {
        "status": "success",
        "data": {"resultType": "streams", "result": [{"stream": {"a": "b"}, "values": values}]},
    }


def newest_first(lines):
    result = loki(lines)
    result["data"]["result"][0]["values"].reverse()
    return result


def backwards(form):
    return lambda log: joined(reversed(form(log).splitlines()))


def interleaved(log):
    """Lines of other ranks in between."""
    others = itertools.cycle(f"(Worker_TP{rank} pid={110 + rank}) INFO 10-12 09:00:40 [x.py:1] busy" for rank in (2, 3))
    return joined(part for line in log.splitlines() for part in (line, next(others)))


def progress(log):
    """Progress bars that overwrite themselves."""
    bars = "\r".join(f"Loading safetensors checkpoint shards: {step:3d}% Completed | {step}/100" for step in range(101))
    first, _, rest = log.partition("Starting to load model")
    line, _, rest = rest.partition("\n")
    return f"{first}Starting to load model{line}\n{bars}\r{rest}"


def archive(log):
    """A support bundle of one file."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        entry = tarfile.TarInfo("bundle/vllm.log")
        entry.size = len(log.encode())
        tar.addfile(entry, io.BytesIO(log.encode()))
    return packed.getvalue()


FORMATS = {
    "plain": str,
    "coloured": each(lambda line, _: coloured(line)),
    "coloured, the escapes lost": each(lambda line, _: coloured(line).replace("\x1b", "")),
    "coloured, the escapes written out": each(lambda line, _: coloured(line).replace("\x1b", "^[") + "^M"),
    "coloured, through rsyslog": each(lambda line, _: coloured(line).replace("\x1b", "#033")),
    "CRLF": lambda log: log.replace("\n", "\r\n"),
    "containerd": containerd(),
    "containerd in parts": containerd(200),
    "containerd, coloured": each(lambda line, time: f"{time} stderr F {coloured(line)}"),
    "kubectl --timestamps": each(lambda line, time: f"{time} {line}"),
    "kubectl --prefix": each(lambda line, _: f"[pod/vllm-7b9f4-x2x9z/vllm] {line}"),
    "kubectl --prefix --timestamps": each(lambda line, time: f"[pod/vllm-0/vllm] {time} {line}"),
    "stern": each(lambda line, _: f"vllm-7b9f4-x2x9z vllm {line}"),
    "stern, coloured": each(lambda line, _: f"\x1b[36mvllm-0\x1b[0m \u203a \x1b[32mvllm\x1b[0m {line}"),
    "Compose": each(lambda line, _: f"vllm-1  | {line}"),
    "syslog": each(lambda line, _: f"Oct 12 09:00:00 ip-10-0-1-23 vllm[812]: {line}"),
    "journald as JSON": each(lambda line, _: json.dumps({"MESSAGE": line, "_PID": "812"})),
    "Docker": each(docker),
    "Docker, coloured": each(lambda line, time: docker(coloured(line), time)),
    "Docker in containerd": each(lambda line, time: f"{time} stderr F {docker(line, time)}"),
    "Fluent Bit": each(fluent_bit),
    "Fluent Bit's print": each(ruby),
    "CloudWatch, filter-log-events": records(
        lambda lines: {
            "events": [{"timestamp": 1, "message": fluent_bit(*each), "ingestionTime": 2} for each in lines]
        },
        indent=4,
    ),
    "CloudWatch, plain messages": records(
        lambda lines: {"events": [{"timestamp": 1, "message": line} for line, _ in lines], "nextToken": "f/3"}, indent=4
    ),
    "CloudWatch, compact": records(lambda lines: {"events": [{"timestamp": 1, "message": line} for line, _ in lines]}),
    "CloudWatch, tail": each(lambda line, time: f"{time[:19]}.123000+00:00 vllm/vllm-0/2f1c {line}"),
    "CloudWatch, exported to S3": each(lambda line, time: f"{time[:19]}.123Z {line}"),
    "CloudWatch Insights, CSV": lambda log: "@timestamp,@message\n" + each(csv)(log),
    "CloudWatch Insights, newest first": lambda log: "@timestamp,@message\n" + backwards(each(csv))(log),
    "Loki, JSON lines": each(lambda line, time: json.dumps({"labels": {"a": "b"}, "line": line, "timestamp": time})),
    "Loki, logcli": each(lambda line, time: f'{time} {{app="vllm", pod="vllm-0"}} {line}'),
    "Loki, logcli, newest first": backwards(each(lambda line, time: f'{time} {{app="vllm", pod="vllm-0"}} {line}')),
    "Loki, the API's answer": records(loki),
    "Loki, the API's answer, newest first": records(newest_first, separators=(",", ":")),
    "Grafana, text": lambda log: "Common labels: {}\n\n" + each(lambda line, time: f"{time}\t{line}")(log),
    "Grafana, JSON": records(lambda lines: [{"line": line, "timestamp": "1", "fields": {}} for line, _ in lines]),
    "Google, JSON": records(lambda lines: [{"textPayload": line, "severity": "ERROR"} for line, _ in lines], indent=2),
    "Google, JSON lines": each(lambda line, _: json.dumps({"jsonPayload": {"message": line}, "severity": "INFO"})),
    "Elasticsearch": each(lambda line, _: json.dumps({"_index": "k", "_source": {"log": line, "stream": "stderr"}})),
    "Vector": each(lambda line, _: json.dumps({"file": "/var/log/x", "message": line, "source_type": "file"})),
    "interleaved ranks": interleaved,
    "progress bars": progress,
    "Ray's workers": lambda log: re.sub(r"\(Worker_TP\d pid=(\d+)\)", r"(RayWorkerWrapper pid=\1, ip=10.0.0.7)", log),
    "invalid UTF-8": lambda log: (
        log.encode().replace(b"Auto", b"\xff\xfe\x80Auto").replace(b"(v0.11.0)", b"(v0.11.0)\xc3")
    ),
    "UTF-16": lambda log: "\ufeff".encode("utf-16-le") + log.encode("utf-16-le"),
    "a byte order mark": lambda log: b"\xef\xbb\xbf" + log.encode(),
    "written into a hole": lambda log: b"\0" * 5000 + log.encode(),
    "the tail cut off": lambda log: log[: log.index("(APIServer pid=1) Traceback")],
    "the tail cut off in a line": lambda log: log[: log.index("Failed core proc")],
    "restarts in one file": lambda log: log * 5,
    "another failure in the next lives": lambda log: log + NEIGHBOUR * 3,
    "quoted in a report": each(lambda line, _: f"> {line}"),
    "indented": each(lambda line, _: f"    {line}"),
    "gzip": lambda log: gzip.compress(log.encode()),
    "gzip, several frames": lambda log: gzip.compress(log[:900].encode()) + gzip.compress(log[900:].encode()),
}


def told(log):
    """The first finding with what it says, wherever it stands, and what the report says of the engine."""
    report = oomedic.diagnose(logs=log if isinstance(log, bytes) else log.encode(), offline=True)
    result = report.results[0]
    items = [(item.name, item.figure and item.figure.value) for item in result.budget.items]
    settings = {name: setting.value for name, setting in result.assessment.config.settings.items()}
    return finding(report), result.subject.vllm, items, settings


def finding(report):
    first = report.results[0].diagnosis.findings[0]
    return first.code, first.confidence, first.phase, [(claim.message, claim.parameters) for claim in first.because]


@pytest.fixture(scope="module")
def expected():
    return {name: told(log) for name, log in CRASHES.items()}


@pytest.mark.parametrize("crash", CRASHES)
@pytest.mark.parametrize("name", FORMATS)
def test_the_finding_is_the_same_in_every_format(name, crash, expected):
    assert told(FORMATS[name](CRASHES[crash])) == expected[crash]


def test_without_its_head_a_log_still_tells_its_cause(expected):
    for name, log in CRASHES.items():
        cut = log[log.index("Initializing a V1") + 300 :]
        code, *_ = finding(
            oomedic.diagnose(logs=cut.encode(), gpu="A10G", model="Qwen/Qwen2.5-32B-Instruct", offline=True)
        )
        assert code == expected[name][0][0]


def test_a_bundle_of_one_log_says_the_same(tmp_path, expected, capsys):
    from oomedic.entrypoints.cli import main

    for name, log in CRASHES.items():
        path = tmp_path / "evidence"
        path.write_bytes(archive(log))
        main(["diagnose", str(path), "--offline", "-o", "json"])
        assert (
            json.loads(capsys.readouterr().out)["results"][0]["diagnosis"]["findings"][0]["code"]
            == expected[name][0][0]
        )


def test_every_life_of_a_file_is_diagnosed_and_the_first_cause_comes_first():
    log = CRASHES["kv-cache-too-small"]
    report = oomedic.diagnose(logs=(log + NEIGHBOUR * 2).encode(), offline=True)
    assert [result.subject.life for result in report.results] == [1, 2, 3]
    assert [result.diagnosis.findings[0].code for result in report.results] == ["OOM401", "OOM101", "OOM101"]
