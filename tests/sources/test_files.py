import bz2
import gzip
import io
import json
import os
import stat
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oomedic.errors import InputError, UsageError
from oomedic.pipeline import Log, Manifest
from oomedic.sources import compression
from oomedic.sources.files import (
    in_folders,
    is_manifest,
    once,
    open_log,
    read_checkpoint,
    read_manifest,
    write_atomically,
)
from oomedic.sources.manifests import read_each

LINE = "ValueError: No available memory for the cache blocks.\n"


def content(log: Log) -> bytes:
    return b"".join(log.chunks)


def refusal(call, *arguments):
    with pytest.raises(InputError) as refused:
        call(*arguments)
    return refused.value.slug, refused.value.parameters


@pytest.fixture
def file(tmp_path):
    def made(name, text):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return made


def test_a_log_comes_as_it_is(file):
    path = file("previous.log", LINE * 3)
    log = open_log(path)
    assert log.name == path
    assert content(log) == (LINE * 3).encode()


def test_a_log_is_opened_when_it_is_read_and_not_before(tmp_path):
    path = tmp_path / "a.log"
    path.write_text("one\n")
    log = open_log(str(path))
    path.write_text("two\n")
    assert content(log) == b"two\n"


def test_standard_input_is_called_dash(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(LINE.encode())))
    assert content(open_log("-")) == LINE.encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"kind: Pod\n")))
    assert read_manifest("-") == Manifest("-", "kind: Pod\n")


def test_standard_input_can_be_read_once():
    once(["-", "a.log"])
    with pytest.raises(UsageError) as refused:
        once(["-", "a.log", "-"])
    assert refused.value.slug == "stdin-twice"


@pytest.mark.parametrize("read", [open_log, read_manifest, read_checkpoint])
def test_a_file_that_is_not_there_is_named(read, tmp_path):
    path = str(tmp_path / "lost.json")
    assert refusal(read, path) == ("file-missing", {"path": path})


@pytest.mark.parametrize("read", [open_log, read_manifest])
def test_a_folder_is_no_file(read, tmp_path):
    assert refusal(read, str(tmp_path)) == ("is-a-folder", {"path": str(tmp_path)})


def test_a_file_that_the_system_refuses_to_read_is_told_with_the_reason():
    path = "/proc/self/mem"  # opens, but its first page cannot be read, whoever asks
    slug, parameters = refusal(lambda: content(open_log(path)))
    assert slug == "file-unreadable"
    assert parameters["reason"] == os.strerror(5)
    assert refusal(read_manifest, path)[0] == "file-unreadable"


def test_a_gzipped_log_is_unpacked(file):
    assert content(open_log(file("a.log.gz", gzip.compress(LINE.encode() * 1000)))) == LINE.encode() * 1000


def test_what_is_compressed_is_told_by_its_bytes_and_not_by_its_name(file):
    assert content(open_log(file("a.log", gzip.compress(LINE.encode())))) == LINE.encode()
    assert content(open_log(file("b.gz", LINE))) == LINE.encode()


def test_several_gzip_members_are_one_log(file):
    members = gzip.compress(b"one\n") + gzip.compress(b"two\n") + b"\0" * 512  # as tape and block devices pad
    assert content(open_log(file("a.gz", members))) == b"one\ntwo\n"


@given(st.binary(max_size=5000), st.integers(1, 64))
def test_pieces_of_any_size_unpack_to_the_same(text, size):
    packed = gzip.compress(text)
    pieces = [packed[at : at + size] for at in range(0, len(packed), size)]
    assert b"".join(compression.decompressed(pieces, "a.gz")) == text


def test_a_cut_off_gzip_gives_what_is_there(file):
    text = os.urandom(200_000).hex().encode()
    whole = gzip.compress(text)
    found = content(open_log(file("a.gz", whole[: len(whole) // 2])))
    assert len(found) > 100_000
    assert text.startswith(found)


def test_a_small_gzip_that_unpacks_to_much_comes_in_pieces():
    pieces = [len(piece) for piece in compression.decompressed([gzip.compress(b"\n" * 30_000_000)], "a.gz")]
    assert sum(pieces) == 30_000_000
    assert max(pieces) <= 4 * 1024 * 1024


def test_a_broken_gzip_is_refused(file):
    slug, parameters = refusal(lambda: content(open_log(file("a.gz", b"\x1f\x8b" + b"broken" * 20))))
    assert slug == "compressed-unreadable"
    assert parameters["path"].endswith("a.gz")


def test_zstd_is_read_where_python_can_and_refused_where_it_cannot(file):
    path = file("a.zst", bytes.fromhex("28b52ffd0400290000 6f6f6d65640a".replace(" ", "")) + b"\0" * 4)
    try:
        from compression import zstd
    except ImportError:
        assert refusal(lambda: content(open_log(path)))[0] == "zstd-unsupported"
    else:
        assert content(open_log(file("b.zst", zstd.compress(LINE.encode())))) == LINE.encode()


def test_an_empty_log_is_a_log(file):
    assert content(open_log(file("a.log", ""))) == b""


@pytest.mark.parametrize(
    "binary",
    [
        bytes(range(256)) * 100,
        b"\x7fELF\x02\x01\x01" + bytes(range(128, 256)) * 20,
        bz2.compress(os.urandom(5000)),
        b"\x89PNG\r\n\x1a\n" + bytes([200, 3, 250, 1]) * 500,
    ],
)
def test_a_binary_file_is_no_log(file, binary):
    path = file("core.log", binary)
    assert refusal(lambda: content(open_log(path))) == ("not-a-log", {"path": path})


@given(st.binary(min_size=200, max_size=2000).filter(lambda text: len(set(text)) > 100))
def test_random_bytes_are_no_log(text):
    with pytest.raises(InputError):
        list(_checked(text))


def _checked(text):
    from oomedic.sources.files import _checked as checked

    return checked(io.BytesIO(text), "random")


@pytest.mark.parametrize(
    "text",
    [
        LINE.encode("utf-16"),  # PowerShell's redirection
        "Zażółć gęślą jaźń, 内存不足\n".encode(),
        b"\0" * 5000 + LINE.encode(),  # rotated while it was written
        "内存不足 CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity\n".encode("gb18030"),
        b"\x1b[1;36m(APIServer pid=1)\x1b[0;0m INFO\r\n",
    ],
)
def test_logs_in_other_encodings_colours_and_holes_are_logs(file, text):
    assert content(open_log(file("a.log", text))) == text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_manifest_may_have_any_unicode_encoding(file, encoding):
    assert read_manifest(file("a.yaml", "kind: Pod # zażółć\n".encode(encoding))).text == "kind: Pod # zażółć\n"


def test_line_ends_of_a_manifest_are_kept(file):
    assert read_manifest(file("a.yaml", b"a: 1\r\nb: 2\n")).text == "a: 1\r\nb: 2\n"


def test_a_manifest_beyond_the_limit_is_refused(file, monkeypatch):
    monkeypatch.setattr("oomedic.sources.files._MANIFEST_LIMIT", 10)
    path = file("a.yaml", "kind: Deployment\n")
    assert refusal(read_manifest, path) == ("manifest-too-large", {"path": path})


def test_a_folder_gives_its_files_in_order_without_hidden_ones(tmp_path):
    for name in ("b.yaml", "a.log", "sub/c.yml", ".git/config", ".hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    found = in_folders([str(tmp_path), "other.log"])
    assert [os.path.relpath(path, tmp_path) for path in found[:-1]] == ["a.log", "b.yaml", "sub/c.yml"]
    assert found[-1] == "other.log"
    assert [is_manifest(path) for path in found] == [False, True, True, False]


def test_an_empty_folder_is_told(tmp_path):
    assert refusal(in_folders, [str(tmp_path)]) == ("folder-empty", {"path": str(tmp_path)})


CONFIG = {"model_type": "llama", "hidden_size": 64}


@pytest.mark.parametrize("name", ["config.json", ""])
def test_a_model_is_its_folder_or_its_config(tmp_path, name):
    folder = tmp_path / "tiny-llama"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIG))
    found = read_checkpoint(str(folder / name))
    assert (found.id, found.config["model_type"]) == ("tiny-llama", "llama")


def test_modelopts_quantisation_beside_the_config_is_taken_along(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    (tmp_path / "hf_quant_config.json").write_text('{"quantization": {"quant_algo": "FP8"}}')
    assert read_checkpoint(str(tmp_path)).config["hf_quant_config"]["quantization"]["quant_algo"] == "FP8"


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "null", "\xff", "[" * 100_000, '{"a": NaN, "b": }'])
def test_a_config_that_cannot_be_read_is_told(file, text):
    path = file("config.json", text.encode("latin-1"))
    slug, parameters = refusal(read_checkpoint, path)
    assert (slug, parameters["path"]) == ("config-unreadable", path)
    assert parameters["reason"]


def test_writing_replaces_the_whole_file_and_keeps_its_mode(tmp_path):
    path = tmp_path / "deployment.yaml"
    path.write_text("before")
    path.chmod(0o640)
    write_atomically(str(path), "after\r\n")
    assert path.read_bytes() == b"after\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_writing_through_a_link_keeps_the_link(tmp_path):
    target, link = tmp_path / "target.yaml", tmp_path / "link.yaml"
    target.write_text("before")
    link.symlink_to(target)
    write_atomically(str(link), "after")
    assert link.is_symlink()
    assert target.read_text() == "after"


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path, monkeypatch):
    path = tmp_path / "a.yaml"
    path.write_text("before")

    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    slug, parameters = refusal(write_atomically, str(path), "after")
    assert (slug, parameters["reason"]) == ("file-unwritable", os.strerror(28))
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "before"


def test_a_folder_that_is_not_there_cannot_be_written_to(tmp_path):
    assert refusal(write_atomically, str(tmp_path / "lost/a.yaml"), "x")[0] == "file-unwritable"


@pytest.fixture
def closed(tmp_path, monkeypatch):
    """A folder that nobody but its owner may enter; who runs the tests may be root, who enters every folder."""
    folder = tmp_path / "closed"
    folder.mkdir()
    (tmp_path / "open.yaml").write_text("a: 1\n", encoding="utf-8")
    for name in ("stat", "scandir"):
        monkeypatch.setattr(os, name, refusing(getattr(os, name), folder, itself=name == "scandir"))
    monkeypatch.setattr(os, "access", lambda path, *_: str(path) != str(folder))
    return folder


def refusing(call, folder, *, itself):
    def refuse(path, *rest, **more):
        if str(path).startswith(f"{folder}/") or (itself and str(path) == str(folder)):
            raise PermissionError(13, "Permission denied", str(path))
        return call(path, *rest, **more)

    return refuse


def test_a_folder_that_may_not_be_entered_is_named(closed):
    for path in (closed, closed / "d.yaml"):
        with pytest.raises(InputError, match="file-unreadable") as refused:
            read_manifest(str(path))
        assert refused.value.parameters == {"path": str(path), "reason": "Permission denied"}


def test_a_closed_folder_among_others_is_told_and_stops_nothing(closed):
    found, errors = read_each([str(closed.parent)])
    assert [manifest.path for manifest in found] == [str(closed.parent / "open.yaml")]
    assert [(error.slug, error.parameters["path"]) for error in errors] == [("file-unreadable", str(closed))]
