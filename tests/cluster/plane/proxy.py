"""A proxy between a client and the API server that makes faults on demand."""

import http.client
import http.server
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NamedTuple
from urllib.parse import urlsplit

_PASSED_ON = frozenset(("transfer-encoding", "connection", "content-length"))


class Fault(NamedTuple):
    """What happens to one request.

    Attributes:
        status: answered in the server's place; None passes the request on.
        headers: of that answer.
        cut: the connection breaks after the server has done what was asked, before its answer is handed on.
        before: called before the request is passed on.
    """

    status: int | None = None
    headers: tuple[tuple[str, str], ...] = ()
    cut: bool = False
    before: Callable[[], Any] | None = None


Judge = Callable[[str, str], Fault | None]
"""From method and path to the fault, None for none."""


@contextmanager
def faulty(server: str, judge: Judge) -> Iterator[str]:
    """Run a proxy before a server; yield its address."""
    address = urlsplit(server)

    class Handler(_Handler):
        upstream = (address.hostname or "", address.port or 443)
        fault = staticmethod(judge)

    proxy = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy.daemon_threads = True
    thread = threading.Thread(target=proxy.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{proxy.server_port}"
    finally:
        proxy.shutdown()
        thread.join()
        proxy.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    upstream = ("", 0)
    fault: Judge

    def _handle(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else None
        found = self.fault(self.command, self.path) or Fault()
        if found.before is not None:
            found.before()
        if found.status is not None:
            self._answer(found.status, found.headers, b'{"kind": "Status", "message": "made by the proxy"}')
        elif self.headers.get("Upgrade"):
            self._tunnel()
        else:
            self._pass_on(body, cut=found.cut)

    do_GET = do_PATCH = do_POST = do_DELETE = _handle  # noqa: N815 - the names that http.server calls

    def _pass_on(self, body: bytes | None, *, cut: bool) -> None:
        server = http.client.HTTPSConnection(*self.upstream, context=ssl._create_unverified_context())
        try:
            kept = {name: value for name, value in self.headers.items() if name.lower() not in _PASSED_ON}
            server.request(self.command, self.path, body, kept)
            answer = server.getresponse()
            content = answer.read()
        finally:
            server.close()
        if cut:
            self.close_connection = True
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        headers = tuple((name, value) for name, value in answer.getheaders() if name.lower() not in _PASSED_ON)
        self._answer(answer.status, headers, content)

    def _answer(self, status: int, headers: tuple[tuple[str, str], ...], content: bytes) -> None:
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        with suppress(OSError):  # the client may have been killed
            self.end_headers()
            self.wfile.write(content)

    def _tunnel(self) -> None:
        """Hand bytes to and fro: a websocket, as of a port-forward."""
        self.close_connection = True
        with (
            socket.create_connection(self.upstream) as plain,
            ssl._create_unverified_context().wrap_socket(plain) as server,
        ):
            lines = [self.requestline, *(f"{name}: {value}" for name, value in self.headers.items()), "", ""]
            server.sendall("\r\n".join(lines).encode())
            back = threading.Thread(target=_copy, args=(server, self.connection), daemon=True)
            back.start()
            _copy(self.connection, server)
            back.join(5)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def _copy(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_RDWR)
