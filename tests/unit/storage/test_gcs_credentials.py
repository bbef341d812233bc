"""What a session says of its credentials is enough: obstore does not ask a server for a token.

Google's metadata server gives them, on Google's machines only. By `skip_signature` obstore reads
unsigned, but to write it asks that server.
"""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from holdfast.errors import ConfigError, HoldfastError
from holdfast.storage.hadoop_settings import from_session
from holdfast.storage.location import parse_location
from holdfast.storage.write import open_writer

LAKE = parse_location("gs://lake/streams")
REQUESTS = [(each, "/lake/streams%2Fa") for each in ("GET", "HEAD", "DELETE", "PUT", "PUT")]


class Recorder(ThreadingHTTPServer):
    """Has nothing, and records what it is asked for and with which token."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Refuse)
        self.asked: list[tuple[str, str, str | None]] = []


class Refuse(BaseHTTPRequestHandler):
    server: Recorder

    def do_GET(self) -> None:
        path = self.path.partition("?")[0]
        self.server.asked.append((self.command, path, self.headers["Authorization"]))
        self.send_error(404)

    do_HEAD = do_PUT = do_DELETE = do_GET  # noqa: N815 - as its base class looks for them

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Iterator[Recorder]:
    """A store that is also what would be asked for a token."""
    with Recorder() as server:
        monkeypatch.setenv("GCE_METADATA_HOST", f"127.0.0.1:{server.server_address[1]}")
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(
    "unsigned", [{"fs.gs.auth.null.enable": "true"}, {"fs.gs.auth.type": "UNAUTHENTICATED"}]
)
def test_a_session_that_signs_nothing_asks_nobody_for_a_token(
    recorder: Recorder, unsigned: dict[str, str]
) -> None:
    use_store(recorder, unsigned)
    assert [(method, path) for method, path, _ in recorder.asked] == REQUESTS
    assert [token for method, _, token in recorder.asked if method in ("GET", "HEAD")] == [None] * 2


def test_a_key_file_signs_by_itself(recorder: Recorder, tmp_path: Path) -> None:
    make_key = ["openssl", "genpkey", "-algorithm", "RSA", "-quiet"]
    key = subprocess.run(make_key, check=True, capture_output=True, text=True).stdout
    file = tmp_path / "key.json"
    account = {"client_email": "a@b", "private_key": key, "private_key_id": "1"}
    file.write_text(json.dumps({"type": "service_account", **account}))
    use_store(recorder, {"fs.gs.auth.service.account.json.keyfile": str(file)})
    assert [(method, path) for method, path, _ in recorder.asked] == REQUESTS
    assert all(token and token.count(".") == 2 for _, _, token in recorder.asked)


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"fs.gs.auth.type": "ACCESS_TOKEN_PROVIDER"}, "fs.gs.auth.type=ACCESS_TOKEN_PROVIDER"),
        ({"spark.hadoop.fs.gs.auth.type": "USER_CREDENTIALS"}, "fs.gs.auth.type=USER_CREDENTIALS"),
        ({"fs.gs.auth.access.token.provider.impl": "a.B"}, "fs.gs.auth.access.token.provider.impl"),
    ],
)
def test_credentials_that_only_the_cluster_has_are_refused_by_name(
    settings: dict[str, str], named: str
) -> None:
    with pytest.raises(ConfigError, match=named):
        from_session(settings, LAKE)


@pytest.mark.parametrize("type_", ["COMPUTE_ENGINE", "APPLICATION_DEFAULT"])
def test_what_the_machine_itself_gives_is_left_to_obstore(type_: str) -> None:
    assert from_session({"fs.gs.auth.type": type_}, LAKE) == {}


def test_a_session_that_signs_nothing_does_not_use_its_key_file() -> None:
    key = {"fs.gs.auth.service.account.json.keyfile": "/key.json"}
    found = from_session({**key, "fs.gs.auth.type": "UNAUTHENTICATED"}, LAKE)
    assert "service_account" not in found


def use_store(recorder: Recorder, settings: dict[str, str]) -> None:
    """Send one request of each kind."""
    endpoint = f"http://127.0.0.1:{recorder.server_address[1]}"
    session = {**settings, "fs.gs.storage.root.url": endpoint}
    storage = open_writer(LAKE, from_session(session, LAKE))
    assert storage.read("a") is None
    assert storage.stat("a") is None
    storage.delete("a")
    for create in (storage.put, storage.put_if_absent):
        with suppress(HoldfastError):
            create("a", b"1")
