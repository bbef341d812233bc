"""Secrets are planted wherever a user can put one; no four characters of one may be shown.

Nothing here reaches a server; DSNs that do are in `tests/spark/test_planted_secrets.py`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import obstore
import pytest
from obstore.exceptions import GenericError
from obstore.store import MemoryStore

import holdfast as hf
from holdfast.cli.main import run as run_command
from holdfast.drills.copied import copy_checkpoint
from holdfast.drills.log import excerpt, last_error
from holdfast.errors import HoldfastError
from holdfast.named import load_named
from holdfast.sinks.postgres.ledger import PostgresLedgerStore
from holdfast.spark.classic.describe import _source
from holdfast.storage.location import normal, parse_location
from holdfast.storage.options import from_environment
from holdfast.storage.write_objects import ObjectWriter
from holdfast.streams.pipeline import PipelineStartError
from holdfast.streams.place import find_place
from tests.planted_secrets import HEAD, TAIL, find_leaks, observe, secret, watching
from tests.stand_ins import stand_in

S = secret()
NUMBER = "98765432"

DSNS: dict[str, tuple[str, str]] = {
    "at": (secret("@"), "postgresql://app:{}@127.0.0.1:1/db"),
    "two ats": (secret("@@"), "postgresql://app:{}@127.0.0.1:1/db"),
    "slash": (secret("/"), "postgresql://app:{}@127.0.0.1:1/db"),
    "number and slash": (f"1234/{S}", "postgresql://app:{}@127.0.0.1:1/db"),
    "at and slash": (secret("@/"), "postgresql://app:{}@127.0.0.1:1/db"),
    "at and colon": (f"{HEAD}@{TAIL}:1", "postgresql://app:{}@127.0.0.1:1/db"),
    "at and question mark": (f"{HEAD}@{TAIL}?sslmode=x", "postgresql://app:{}@127.0.0.1:1/db"),
    "percent": (secret("%"), "postgresql://app:{}@127.0.0.1:1/db"),
    "percent at the end": (f"{S}%", "postgresql://app:{}@127.0.0.1:1/db"),
    "percent and zero": (secret("%00"), "postgresql://app:{}@127.0.0.1:1/db"),
    "as a port": (S, "postgresql://app@127.0.0.1:{}/db"),
    "without a host": (S, "postgresql://app:{}"),
    "a number without a host": (NUMBER, "postgresql://app:{}/db"),
    "open bracket": (S, "postgresql://app:{}@[::1/db"),
    "after a bracket": (S, "postgresql://app:{}@[::1]x/db"),
    "at in a query without a path": (secret("@"), "postgresql://127.0.0.1:1?password={}"),
    "no equals in a query": (S, "postgresql://app@127.0.0.1:1/db?password{}"),
    "ampersand in a query": (secret("&"), "postgresql://app@127.0.0.1:1/db?password={}"),
    "equals in a query": (secret("="), "postgresql://app@127.0.0.1:1/db?password={}"),
    "name in a query": (S, "postgresql://app@127.0.0.1:1/db?{}=1"),
    "quoted URL": (S, '"postgresql://app:{}@127.0.0.1:1/db"'),
    "leading space": (S, " postgresql://app:{}@127.0.0.1:1/db"),
    "another scheme": (S, "mysql://app:{}@127.0.0.1:1/db"),
    "assignment": (S, "DSN=postgresql://app:{}@127.0.0.1:1/db"),
    "JDBC": (S, "jdbc:postgresql://127.0.0.1:1/db?user=app&password={}"),
    "JDBC with a login": (S, "jdbc:postgresql://app:{}@127.0.0.1:1/db"),
    "space": (secret(" "), "host=127.0.0.1 port=1 password={} dbname=db"),
    "newline": (secret("\n"), "host=127.0.0.1 port=1 password={} dbname=db"),
    "space and equals": (f"{HEAD} {TAIL}=1", "host=127.0.0.1 port=1 password={}"),
    "unterminated": (S, "host=127.0.0.1 password='{} port=1"),
    "quote inside": (secret("'"), "host=127.0.0.1 port=1 password='{}'"),
    "backslash at the end": (f"{S}\\", "host=127.0.0.1 port=1 password='{}'"),
    "name of an option": (S, "host=127.0.0.1 port=1 {}=1"),
    "empty port": (S, "host=127.0.0.1 port={} dbname=db"),
}
"""How a DSN is mistyped, each with the secret in it."""

LOCATIONS: dict[str, tuple[str, str]] = {
    "s3a": (S, "s3a://AKIAKEY:{}@lake/x"),
    "s3": (S, "s3://AKIAKEY:{}@lake/x"),
    "s3n": (S, "S3N://AKIAKEY:{}@lake/x"),
    "gs": (S, "gs://app:{}@lake/x"),
    "az": (S, "az://lake:{}@acme/x"),
    "abfss": (S, "abfss://lake:{}@acme.dfs.core.windows.net/x"),
    "wasbs": (S, "wasbs://lake:{}@acme.blob.core.windows.net/x"),
    "user alone": (S, "s3a://{}@lake/x"),
    "no bucket": (S, "s3a://AKIAKEY:{}"),
    "no bucket, slash": (secret("/"), "s3a://AKIAKEY:{}"),
    "slash": (secret("/"), "s3a://AKIAKEY:{}@lake/x"),
    "plus": (secret("+"), "s3a://AKIAKEY:{}@lake/x"),
    "at": (secret("@"), "s3a://AKIAKEY:{}@lake/x"),
    "space": (secret(" "), "s3a://AKIAKEY:{}@lake/x"),
    "quote": (secret("'"), "s3a://AKIAKEY:{}@lake/x"),
    "encoded": (secret("%2F"), "s3a://AKIAKEY:{}@lake/x"),
    "SAS": (S, "abfss://lake@acme.dfs.core.windows.net/x?sv=2024&sig={}"),
    "SAS on HTTPS": (S, "https://acme.blob.core.windows.net/lake/x?sv=2024&sig={}"),
    "signed": (S, "s3://lake/x?X-Amz-Signature={}"),
    "hdfs": (S, "hdfs://app:{}@name:8020/x"),
    "file": (S, "file://app:{}@lake/x"),
    "no scheme": (S, "AKIAKEY:{}@lake/x"),
    "database": (S, "jdbc:postgresql://127.0.0.1/db?user=app&password={}"),
}
"""How credentials get into a location."""


def read_by_command(location: str) -> None:
    run_command(["inspect", location])


def adopt(location: str, *, root: str = "/data", setting: str | None = None) -> Any:
    spark = SimpleNamespace(conf=SimpleNamespace(get=lambda *_: setting))
    return find_place(stand_in(spark), "readings", root, checkpoint=location)


WAYS: dict[str, Callable[[str], object]] = {
    "read_checkpoint": hf.read_checkpoint,
    "inspect": read_by_command,
    "inspect in Python": hf.inspect,
    "drill of a checkpoint": lambda location: copy_checkpoint(location, Path("/nowhere")),
    "drill of a target": lambda location: run_command(["drill", "run", location]),
    "two locations": lambda location: run_command(["inspect", "/nowhere", location]),
    "root": lambda location: adopt("/data/cp", root=location),
    "root of the session": lambda location: adopt("/data/cp", root="", setting=location),
    "checkpoint": adopt,
    "Delta path": lambda location: hf.Delta(path=location).display_name,
    "Delta table": lambda location: hf.Delta(table=f"delta.`{location}`").display_name,
    "pipeline": normal,
    "source": lambda location: _source(node(f"FileSource[{location}]")),
    "source in words": lambda location: _source(node(f"Reader of {location}")),
}
"""What a user calls with a location."""
IN_WORDS = ("source in words", "two locations", "pipeline")


def node(name: str) -> Any:
    kind = SimpleNamespace(getSimpleName=lambda: "StreamingRelation")
    return SimpleNamespace(sourceName=lambda: name, getClass=lambda: kind)


def fail_with(*_: object, **__: object) -> str:
    raise KeyError(f"postgresql://app:{S}@h/db") from RuntimeError(f"inner {S}")


PLAIN = f"postgresql://app:{S}@127.0.0.1/db"
SINKS: dict[str, Any] = {
    "plain URL": PLAIN,
    "plain words": f"host=127.0.0.1 password={S}",
    "plain password": S,
    "env: before the DSN": f"env:{PLAIN}",
    "file: before the DSN": f"file:{PLAIN}",
    "file: before words": f"file:host=127.0.0.1 password={S}",
    "function that raises": fail_with,
    "function that returns bytes": PLAIN.encode,
    "function that returns a mapping": lambda: {"password": S},
    "function that returns NUL": lambda: f"{PLAIN}\0",
    "function that returns a half character": lambda: f"{PLAIN}\udcff",
}
"""What is given as `dsn=`."""

FILES: dict[str, bytes] = {
    "not UTF-8": f"postgresql://app:{S}".encode() + b"\xff@h/db",
    "NUL": f"postgresql://app:{S}\0@h/db".encode(),
    "huge": S.encode() * 20_000,
    "not parsed": f"postgresql://app:{S}%@h/db".encode(),
}


def connect(dsn: Any) -> None:
    sink = hf.Postgres(dsn, table="readings")
    logging.getLogger("app").info("%r %s %s", sink, sink.place, sink.display_name)
    PostgresLedgerStore(sink).session.connection()


@pytest.mark.parametrize("name", DSNS)
def test_a_mistyped_dsn_is_not_shown(
    name: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    planted, form = DSNS[name]
    monkeypatch.setenv("PLANTED_DSN", form.format(planted))
    shown = observe(lambda: connect("env:PLANTED_DSN"))
    assert find_leaks([*shown.all(), *capfd.readouterr()], planted) == []
    assert isinstance(shown.error, HoldfastError)
    assert "PLANTED_DSN" in shown.error.what
    assert not shown.error.retryable


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LOCATIONS)
def test_credentials_in_a_location_are_not_shown(
    name: str, way: str, capfd: pytest.CaptureFixture[str]
) -> None:
    planted, form = LOCATIONS[name]
    shown = observe(lambda: WAYS[way](form.format(planted)))
    if way in IN_WORDS and (set(planted) & {" ", "'"} or name == "no scheme"):
        pytest.skip("within a text a URL begins with its scheme and ends at a space or a quote")
    assert find_leaks([*shown.all(), *capfd.readouterr()], planted) == []


@pytest.mark.parametrize("name", SINKS)
def test_a_dsn_that_cannot_be_used_is_not_shown(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    shown = observe(lambda: connect(SINKS[name]))
    assert find_leaks([*shown.all(), *capfd.readouterr()], S) == []
    assert isinstance(shown.error, HoldfastError)
    assert shown.error.__context__ is None


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_holds_no_dsn_is_not_shown(name: str, tmp_path: Path) -> None:
    (tmp_path / "dsn").write_bytes(FILES[name])
    shown = observe(lambda: connect(f"file:{tmp_path / 'dsn'}"))
    assert find_leaks(shown.all(), S) == []
    assert isinstance(shown.error, HoldfastError)


def test_a_variable_that_is_not_utf_8_is_not_shown() -> None:
    os.environb[b"PLANTED_DSN"] = f"postgresql://app:{S}".encode() + b"\xff@127.0.0.1:1/db"
    try:
        shown = observe(lambda: connect("env:PLANTED_DSN"))
    finally:
        del os.environ["PLANTED_DSN"]
    assert find_leaks(shown.all(), S) == []
    assert isinstance(shown.error, HoldfastError)


OPTIONS = {
    "without equals": ["s3://lake/x", "--storage-option", f"secret_access_key: {S}"],
    "without a name": ["s3://lake/x", "--storage-option", f"={S}"],
    "as an argument": ["s3://lake/x", f"secret_access_key={S}"],
    "no such option": ["s3://lake/x", f"--secret-access-key={S}"],
    "not a truth value": ["s3://lake/x", "--storage-option", f"skip_signature={S}"],
    "unknown name": ["s3://lake/x", "--storage-option", f"secret_access_keyy={S}"],
    "not base64": ["az://lake@acme/x", "--storage-option", f"account_key={S}!"],
    "not JSON": ["gs://lake/x", "--storage-option", f"service_account_key={S}"],
    "not a file": ["gs://lake/x", "--storage-option", f"service_account={S}"],
}


@pytest.mark.parametrize("name", OPTIONS)
def test_an_option_that_is_not_taken_is_not_shown(
    name: str, capfd: pytest.CaptureFixture[str]
) -> None:
    shown = observe(lambda: run_command(["inspect", *OPTIONS[name]]))
    assert find_leaks([*shown.all(), *capfd.readouterr()], S) == []
    assert isinstance(shown.error, SystemExit)
    assert shown.error.code == 2


AWS_FILES = {
    "no section": f"aws_secret_access_key = {S}\n".encode(),
    "no equals": f"[default]\naws_secret_access_key {S}\n".encode(),
    "twice": f"[default]\n{S} = 1\n{S} = 2\n".encode(),
    "not UTF-8": f"[default]\naws_secret_access_key = {S}".encode() + b"\xff\n",
}


@pytest.mark.parametrize("name", AWS_FILES)
def test_an_aws_file_that_cannot_be_parsed_is_not_shown(name: str, tmp_path: Path) -> None:
    file = tmp_path / "credentials"
    file.write_bytes(AWS_FILES[name])
    given = {"HOME": str(tmp_path), "AWS_SHARED_CREDENTIALS_FILE": str(file)}
    shown = observe(lambda: from_environment(given, given={}))
    assert find_leaks(shown.all(), S) == []
    assert isinstance(shown.error, HoldfastError)


ANSWERS = {
    "login of the endpoint": f"Error performing GET http://app:{S}@127.0.0.1:1/lake?list-type=2",
    "signature of the request": f"GET https://acme/lake?sv=2024&sig={S} failed",
    "body": f"status code: 403 Forbidden: <?xml?><Code>InvalidKey</Code><Key>{S}</Key>",
    "what a program printed": f"External AWS credential provider: CredentialRetrievalError: {S}",
    "below the first line": f"status code: 403 Forbidden\n\nDebug source:\n{S}",
}


@pytest.mark.parametrize("name", ANSWERS)
def test_the_answer_of_a_store_is_shown_without_secrets(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise GenericError(ANSWERS[name])

    store = ObjectWriter(parse_location("s3://lake/x"), MemoryStore())
    for each in ("get", "put", "list_with_delimiter"):
        monkeypatch.setattr(obstore, each, fail)
    calls: list[Callable[[], object]] = [
        lambda: store.read("a"),
        lambda: store.put("a", b""),
        store.list,
    ]
    for call in calls:
        shown = observe(call)
        assert find_leaks(shown.all(), S) == []
        assert isinstance(shown.error, HoldfastError)


def test_what_a_log_a_module_or_spark_says_is_shown_without_secrets(tmp_path: Path) -> None:
    said = f"Error: cannot open s3a://AKIAKEY:{S}@lake/x with spark.hadoop.fs.s3a.secret.key={S}"
    (tmp_path / "log").write_text(f"java.lang.{said}\n")
    (tmp_path / "app.py").write_text(f"raise ValueError({said!r})")
    for run in (
        lambda: excerpt(tmp_path / "log"),
        lambda: last_error(tmp_path / "log"),
        lambda: str(PipelineStartError("p", queries={}, errors={"s": ValueError(said)})),
    ):
        assert find_leaks(observe(run).all(), S) == []
    named = observe(lambda: load_named(f"{tmp_path / 'app.py'}:start")).error
    assert isinstance(named, HoldfastError)
    assert find_leaks([named.why], S) == []


def test_a_bug_is_reported_without_secrets(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("holdfast.storage.local.LocalReader", fail_with_url)
    shown = observe(lambda: run_command(["inspect", "/data/cp"]))
    assert isinstance(shown.error, SystemExit)
    assert shown.error.code == 70
    assert find_leaks(capfd.readouterr(), S) == []


def fail_with_url(*_: object) -> None:
    raise ZeroDivisionError("postgresql://app:" + S + "@h/db")


def test_no_frame_of_ours_holds_a_dsn_that_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reporters of errors print local variables."""
    monkeypatch.setenv("PLANTED_DSN", f"postgresql://app:{S}%@127.0.0.1:1/db")
    for dsn in ("env:PLANTED_DSN", fail_with):
        error = observe(partial(connect, dsn)).error
        assert error is not None
        frame, found = error.__traceback__, []
        while frame is not None:
            if "/holdfast/" in frame.tb_frame.f_code.co_filename:
                found.append(repr(frame.tb_frame.f_locals))
            frame = frame.tb_next
        assert found
        assert find_leaks(found, S) == []


@pytest.mark.parametrize("middle", ["", "@", "/", "%", " ", "\n", "'", '"', "\\", "ü"])
def test_the_checker_finds_a_planted_leak(middle: str) -> None:
    planted = secret(middle)

    def leak() -> None:
        logging.getLogger("psycopg").debug("host: %r", planted[-5:])
        raise ValueError("outer") from KeyError(planted)

    shown = observe(leak)
    assert planted[:4] in find_leaks(shown.all(), planted)
    shown.error = None
    assert planted[-4:] in find_leaks(shown.all(), planted)
    for text in (f"{planted!r}", planted.replace("%", "%25").replace("@", "%40"), f"x{planted}x"):
        assert find_leaks([text], planted)
    with watching() as nothing:
        logging.getLogger("app").info("nothing")
    assert find_leaks(nothing.all(), planted) == []


def test_at_least_sixty_secrets_are_planted() -> None:
    locations = len(LOCATIONS) * len(WAYS)
    others = [DSNS, SINKS, FILES, OPTIONS, AWS_FILES, ANSWERS]
    assert sum(map(len, others)) >= 60
    assert locations >= 60
