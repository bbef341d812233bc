"""The proxy only translates: what the emulator decides is what the client gets."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lab.gcs_proxy import GcsProxy, json_target

UPLOAD = "/upload/storage/v1/b/lake/o?uploadType=media&name="


@pytest.mark.parametrize(
    ("path", "fields", "expected"),
    [
        ("/lake/a", {}, UPLOAD + "a"),
        ("/lake/d/a%20b%2520%23%C3%BC+~", {}, UPLOAD + "d%2Fa%20b%2520%23%C3%BC%2B~"),
        ("/lake/a", {"x-goog-if-generation-match": "0"}, UPLOAD + "a&ifGenerationMatch=0"),
        ("/lake/a", {"x-goog-if-generation-match": "71"}, UPLOAD + "a&ifGenerationMatch=71"),
        (
            "/lake/b/c",
            {"x-goog-copy-source": "lake/d/a%20b"},
            "/storage/v1/b/lake/o/d%2Fa%20b/copyTo/b/lake/o/b%2Fc",
        ),
    ],
)
def test_a_put_of_the_xml_api_has_its_like_in_the_json_api(
    path: str, fields: dict[str, str], expected: str
) -> None:
    assert json_target("PUT", path, fields) == expected


@pytest.mark.parametrize(
    ("method", "path", "fields"),
    [
        ("GET", "/lake/a", {}),
        ("DELETE", "/lake/a", {}),
        ("GET", "/lake?prefix=a", {}),
        ("POST", "/upload/storage/v1/b/lake/o?uploadType=resumable&name=a", {}),
        ("PUT", "/upload/storage/v1/b/lake/o?uploadType=resumable&upload_id=1", {}),
        ("PUT", "/storage/v1/b/lake/o/a", {}),
        ("PUT", "/lake", {}),
        ("PUT", "/lake/a?uploadId=1&partNumber=1", {}),
        ("PUT", "/lake/a", {"x-goog-copy-source": "lake/b", "x-goog-if-generation-match": "0"}),
    ],
)
def test_the_rest_passes_as_it_is(method: str, path: str, fields: dict[str, str]) -> None:
    """A copy with a condition too, which the emulator then refuses: it would ignore it."""
    assert json_target(method, path, fields) is None


class Emulator(ThreadingHTTPServer):
    """Records requests; creates every object but `taken`."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.seen: list[tuple[str, str, bytes]] = []


class Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Emulator

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.seen.append((self.command, self.path, body))
        made = json.dumps({"etag": "e1", "generation": "7", "name": "x" * 3000}).encode()
        if "name=taken" in self.path:
            self._answer(412, b"no")
        elif "name=chunked" in self.path:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"%x\r\n%b\r\n0\r\n\r\n" % (len(made), made))
        else:
            self._answer(200, made)

    def do_GET(self) -> None:
        self.server.seen.append((self.command, self.path, b""))
        self._answer(200, b"content")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def emulator() -> Iterator[Emulator]:
    with Emulator() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def client(emulator: Emulator) -> Iterator[HTTPConnection]:
    with GcsProxy(emulator.server_address[1]) as proxy:
        connection = HTTPConnection("127.0.0.1", proxy.port, timeout=10)
        yield connection
        connection.close()


def put(client: HTTPConnection, path: str) -> tuple[HTTPResponse, bytes]:
    client.request("PUT", path, b"12", {"x-goog-if-generation-match": "0"})
    answer = client.getresponse()
    return answer, answer.read()


@pytest.mark.parametrize("name", ["new", "chunked"])
def test_an_object_that_was_created_has_its_etag_and_generation(
    client: HTTPConnection, emulator: Emulator, name: str
) -> None:
    answer, body = put(client, f"/lake/{name}")
    assert (answer.status, body) == (200, b"")
    assert (answer.headers["ETag"], answer.headers["x-goog-generation"]) == ('"e1"', "7")
    assert emulator.seen == [("POST", f"{UPLOAD}{name}&ifGenerationMatch=0", b"12")]


def test_a_condition_that_the_emulator_refuses_is_refused(client: HTTPConnection) -> None:
    answer, body = put(client, "/lake/taken")
    assert (answer.status, body) == (412, b"no")
    assert answer.headers["ETag"] is None


def test_a_connection_goes_on_after_a_translated_request(
    client: HTTPConnection, emulator: Emulator
) -> None:
    put(client, "/lake/new")
    client.request("GET", "/lake/new?alt=media")
    assert client.getresponse().read() == b"content"
    assert emulator.seen[-1] == ("GET", "/lake/new?alt=media", b"")
