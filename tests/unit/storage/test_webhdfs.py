"""What a NameNode, or something in its place, answers over HTTP: no crash, no token shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from holdfast.errors import ReadError
from holdfast.storage.location import parse_location
from holdfast.storage.webhdfs import TOKEN, WebHdfsReader

SECRET = "HAAEaGVhZA-planted"


@contextmanager
def answering(answer: bytes) -> Iterator[WebHdfsReader]:
    """Return a reader of a server that answers every request with these bytes, and hangs up."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.wfile.write(answer.replace(b"PATH", self.path.encode()))

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield WebHdfsReader(parse_location(f"webhdfs://127.0.0.1:{server.server_port}/streams"))
    finally:
        server.shutdown()
        server.server_close()


def http(body: bytes, *, status: str = "200 OK", length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    return f"HTTP/1.1 {status}\r\nContent-Length: {size}\r\n\r\n".encode() + body


def refusing(exception: str, message: str) -> bytes:
    said = {"RemoteException": {"exception": exception, "message": message}}
    return http(json.dumps(said).encode(), status="403 Forbidden")


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(http(b"half", length=400), id="cut"),
        pytest.param(b"", id="empty"),
        pytest.param(b"SSH-2.0-OpenSSH_9.2\r\n", id="another server"),
        pytest.param(http(b"<html>"), id="not JSON"),
        pytest.param(http(b'{"FileStatus": {"length": "x"}}'), id="wrong types"),
        pytest.param(http(b"", status="500 PATH"), id="an echo"),
        pytest.param(
            refusing("AccessControlException", "Permission denied: FileNotFoundException")
        ),
    ],
)
def test_what_is_no_answer_is_an_error_and_not_an_absent_file(
    answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(TOKEN, SECRET)
    with answering(answer) as reader, pytest.raises(ReadError) as error:
        reader.stat("offsets/0")
    assert SECRET not in str(error.value)


@pytest.mark.parametrize(
    ("exception", "message"),
    [
        ("FileNotFoundException", "File does not exist"),
        ("AccessControlException", "/streams/offsets (is not a directory)"),
    ],
)
def test_what_says_that_nothing_is_there_is_believed(exception: str, message: str) -> None:
    with answering(refusing(exception, message)) as reader:
        assert reader.stat("offsets/0") is None


def test_a_time_that_no_calendar_has_is_1970() -> None:
    status = {"pathSuffix": "", "type": "FILE", "length": 3, "modificationTime": 2**63 - 1}
    with answering(http(json.dumps({"FileStatus": status}).encode())) as reader:
        found = reader.stat("offsets/0")
    assert found is not None
    assert found.modified.year == 1970


def test_a_proxy_of_the_environment_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    with answering(refusing("FileNotFoundException", "")) as reader:
        assert reader.stat("offsets/0") is None
