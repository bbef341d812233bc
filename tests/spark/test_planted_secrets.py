"""Secrets are planted in DSNs that reach a real server, and in streams that run and fail on one.

Those that no server is needed for are in `tests/unit/sinks/test_planted_secrets.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql
from pyspark.errors import StreamingQueryException
from pyspark.sql.streaming.listener import StreamingQueryListener

from holdfast.drills.kill.waiting import wait_until
from holdfast.errors import HoldfastError
from holdfast.sinks.postgres.session import Session
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from holdfast.streams.start import start
from lab import Postgres
from lab.s3 import SECRET_KEY
from lab.server import free_ports
from tests.planted_secrets import Shown, find_leaks, observe, secret, watching
from tests.spark.file_stream import Stream, wait_until_given_up

S = secret()
URL = "postgresql://postgres:{s}@127.0.0.1:{port}/postgres?sslmode=disable"
WORDS = "host=127.0.0.1 port={port} dbname=postgres user=postgres sslmode=disable "

DSNS: dict[str, tuple[str, str]] = {
    **{f"URL with {each!r}": (secret(each), URL) for each in "#?: üß'\"\\+&;=,[]!$*|^~`<>{}"},
    "encoded": (secret("@/%"), URL.replace("{s}", "{quoted}")),
    "keyword": (S, WORDS + "password={s}"),
    "keyword, quoted": (secret(" "), WORDS + "password='{s}'"),
    "keyword, quote": (secret("\\'"), WORDS + "password='{s}'"),
    "keyword, backslash": (secret("\\\\"), WORDS + "password='{s}'"),
    "query": (S, "postgresql://127.0.0.1:{port}/postgres?user=postgres&password={s}"),
    "query with @": (secret("@"), "postgresql://postgres@127.0.0.1:{port}/postgres?password={s}"),
    "two hosts": (S, "postgresql://postgres:{s}@127.0.0.1:{port},127.0.0.1:{port}/postgres"),
    "two hosts, keyword": (S, "host=127.0.0.1,localhost port={port} user=postgres password={s}"),
    "password of a key": (S, WORDS + "password=x sslpassword={s}"),
    "database": (S, WORDS.replace("dbname=postgres", "dbname={s}") + "password={right}"),
    "user": (S, WORDS.replace("user=postgres", "user={s}") + "password={right}"),
    "sslmode": (S, WORDS.replace("disable", "{s}") + "password={right}"),
    "timeout": (S, WORDS + "password={right} connect_timeout={s}"),
    "options": (S, WORDS + "password={right} options='-c {s}=1'"),
    "key file": (S, WORDS.replace("disable", "verify-full") + "password=x sslkey=/{s}"),
    "certificate": (S, WORDS.replace("disable", "verify-ca") + "password=x sslrootcert=/{s}"),
    "socket": (S, "host=/{s} user=postgres password=x"),
    "password file": (S, WORDS + "passfile={directory}/passfile"),
    "open password file": (S, WORDS + "passfile={directory}/open"),
    "service": (S, "service=planted"),
    "broken service": (S, "service=broken"),
    "no such service": (S, "service={s}"),
    "away": (S, WORDS.replace("{port}", "{free}") + "password={s}"),
    "too many clients": (S, WORDS.replace("user=postgres", "user=crowded") + "password={s}"),
}


@pytest.fixture
def place(postgres: Postgres, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """What the DSNs speak of, with the secret in every file."""
    lines = {"passfile": 0o600, "open": 0o644}
    for name, mode in lines.items():
        (tmp_path / name).write_text(f"*:*:*:*:{S}\n")
        (tmp_path / name).chmod(mode)
    address = f"host=127.0.0.1\nport={postgres.port}\nuser=postgres\n"
    services = f"[planted]\n{address}password={S}\n[broken]\n{S}\n"
    (tmp_path / "services").write_text(services)
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS crowded")
        connection.execute(
            sql.SQL("CREATE ROLE crowded LOGIN CONNECTION LIMIT 0 PASSWORD {}").format(S)
        )
    (free,) = free_ports(1)
    given = {"port": postgres.port, "free": free, "directory": tmp_path}
    return {**given, "right": postgres.address.split("password=")[1].split()[0]}


@pytest.mark.parametrize("name", DSNS)
def test_a_dsn_that_a_server_refuses_is_not_shown(
    name: str, place: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    planted, form = DSNS[name]
    file = place["directory"] / "dsn"
    file.write_text(form.format(s=planted, quoted=quote(planted, safe=""), **place))
    shown = observe(Session(f"file:{file}").connection)
    assert find_leaks([*shown.all(), *capfd.readouterr()], planted) == []
    assert isinstance(shown.error, HoldfastError)
    assert shown.error.code == "SINK_UNREACHABLE"
    assert shown.error.retryable == (name in ("away", "too many clients", "socket"))
    assert shown.error.__context__ is None
    assert isinstance(shown.error, psycopg.OperationalError)


class Listener(StreamingQueryListener):
    """Keeps all that Spark tells of queries."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802 - Spark's name
        self.told.append(f"{event.name} {event.jobTags}")

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        self.told.append(event.progress.json)

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        self.told.append(str(event.timestamp))

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        self.told.append(f"{event.exception} {event.errorClassOnException}")

    def wait_for(self, words: str) -> bool:
        """Wait until something with these words was told: Spark tells it from a thread."""
        return wait_until(lambda: any(words in each for each in self.told), seconds=60)


@dataclass
class Running:
    """A stream whose DSN is in a file; all that it shows is kept."""

    stream: Stream
    file: Path
    display_name: Shown
    listener: Listener = field(default_factory=Listener)

    def sink(self) -> PostgresSink:
        return PostgresSink(f"file:{self.file}", table="readings")

    def all(self) -> list[str]:
        """Return what was shown, listened to, recorded and committed."""
        files = [each for each in self.stream.root.rglob("*") if each.is_file()]
        assert files
        with psycopg.connect(self.stream.dsn) as connection:
            tables = [b"SELECT * FROM holdfast.ledger", b"SELECT * FROM holdfast.history"]
            rows = [repr(connection.execute(each).fetchall()) for each in tables]
        held = [f"{each.name} {each.read_bytes()!r}" for each in files]
        return [*self.display_name.all(), *self.listener.told, *held, *rows]


@pytest.fixture
def running(stream: Stream, tmp_path: Path) -> Iterator[Running]:
    with watched(stream, tmp_path / "dsn") as found:
        yield found


@contextmanager
def watched(stream: Stream, file: Path) -> Iterator[Running]:
    file.write_text(stream.dsn)
    with watching() as shown:
        found = Running(stream=stream, file=file, display_name=shown)
        stream.spark.streams.addListener(found.listener)
        try:
            yield found
        finally:
            wait_until_given_up()
            stream.spark.streams.removeListener(found.listener)


def end_sessions(stream: Stream) -> None:
    others = "pid <> pg_backend_pid() AND datname = current_database()"
    stream.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")


def fail(running: Running, dsn: str, before: Callable[[Stream], object]) -> None:
    """Start a stream, replace its DSN while it runs, and have its next batch connect."""
    stream = running.stream
    query = stream.start(into=running.sink(), trigger={"processingTime": "0 seconds"})
    query.processAllAvailable()
    running.file.write_text(dsn)
    before(stream)
    stream.add(9)
    with pytest.raises(StreamingQueryException) as failed:
        query.processAllAvailable()
    wait_until_given_up()
    running.display_name.error = failed.value
    running.display_name.texts.append(
        f"{query.exception()} {query.lastProgress} {query.recentProgress}"
    )


TYPOS = {
    "percent": (secret("%"), "postgresql://postgres:{}@127.0.0.1:{}/postgres"),
    "at": (secret("@"), "postgresql://postgres:{}@127.0.0.1:{}/postgres"),
    "space": (secret(" "), "host=127.0.0.1 user=postgres password={} port={}"),
    "wrong": (S, "host=127.0.0.1 user=postgres password={} port={}"),
}


@pytest.mark.parametrize("name", TYPOS)
def test_a_dsn_that_is_replaced_while_a_stream_runs_is_not_shown(
    running: Running, postgres: Postgres, name: str
) -> None:
    planted, form = TYPOS[name]
    fail(running, form.format(planted, postgres.port), end_sessions)
    assert running.listener.wait_for("ConnectError")
    assert find_leaks(running.all(), planted) == []


def test_a_dsn_that_only_a_task_reads_is_not_shown(running: Running, postgres: Postgres) -> None:
    planted, form = TYPOS["percent"]
    running.stream.spark = running.stream.spark.newSession()
    running.stream.spark.conf.set("spark.holdfast.driverBatchBytes", "1")
    running.stream.spark.streams.addListener(running.listener)
    fail(running, form.format(planted, postgres.port), lambda _: None)
    assert find_leaks(running.all(), planted) == []
    assert "ConnectError" in "".join(running.display_name.texts)


def test_a_stream_that_runs_well_shows_no_password(running: Running, postgres: Postgres) -> None:
    planted = secret("@/ ü'")
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute("DROP ROLE IF EXISTS planted")
        role = sql.SQL("CREATE ROLE planted SUPERUSER LOGIN PASSWORD {}").format(planted)
        connection.execute(role)
        database = running.stream.dsn.split("dbname=")[1].split()[0]
    address = f"planted:{quote(planted, safe='')}@127.0.0.1:{postgres.port}/{database}"
    running.file.write_text(f"postgresql://{address}")
    running.stream.run(into=running.sink())
    assert running.stream.rows() == ["row 0", "row 1", "row 2"]
    assert running.listener.wait_for("numInputRows")
    assert find_leaks(running.all(), planted) == []


def test_the_keys_of_the_sessions_store_are_not_shown(stream: Stream) -> None:
    assert SECRET_KEY in dict(stream.spark.sparkContext.getConf().getAll()).values()
    for root in ("s3a://no-such-bucket/x", f"s3a://AKIAKEY:{S}@lake/x"):
        begin = partial(start, stream.source, stream="readings", into=stream.sink(), root=root)
        shown = observe(begin)
        assert isinstance(shown.error, HoldfastError)
        assert not any(SECRET_KEY in each for each in shown.all())
        assert find_leaks(shown.all(), S) == []


def test_a_sinks_name_with_credentials_is_refused_and_not_shown(stream: Stream) -> None:
    sink = stream.sink(name=f"s3a://AKIAKEY:{S}@lake/x")
    shown = observe(lambda: stream.start(into=sink))
    assert isinstance(shown.error, HoldfastError)
    assert find_leaks(shown.all(), S) == []
    assert not stream.root.exists()


def test_the_checker_finds_a_leak_in_what_is_recorded(running: Running) -> None:
    running.stream.run(into=running.sink())
    assert find_leaks(running.all(), S) == []
    planted = running.stream.root / "_holdfast" / "readings" / "contracts" / "x.json"
    planted.write_text(f'{{"sources": ["s3a://AKIAKEY:{S}@lake"]}}')
    assert find_leaks(running.all(), S)
    planted.unlink()
    running.stream.execute(f"UPDATE holdfast.ledger SET checkpoint = '{S[:5]}'")
    assert find_leaks(running.all(), S) == [S[:4], S[1:5]]
