"""The ledger of an Iceberg table is read without Spark, from what its catalog calls current."""

from __future__ import annotations

import json
import sqlite3
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

import holdfast as hf
from holdfast.errors import ConfigError, HoldfastError
from holdfast.ids import BatchId, QueryId
from holdfast.ledger import Binding, LedgerRow
from holdfast.ledger.output import EmptyOutput, KeepOutput, RestoreOutput
from holdfast.ledger.store import Unreadable
from holdfast.plan.world import look_at_sink
from holdfast.record.contracts import SinkContract
from holdfast.sinks.iceberg.catalog_ledger import CatalogLedgerStore, say_catalog
from holdfast.sinks.iceberg.failures import IcebergTableError
from holdfast.sinks.iceberg.notes import encode_note, encode_row, property_of
from holdfast.sinks.kinds import open_recorded

TABLE = "lake.db.readings"
TOKEN = "S3cr3tT0k3n"
ROW = LedgerRow(
    stream="readings",
    sink=TABLE,
    generation=1,
    epoch=3,
    nonce="n",
    binding=Binding(query_id=QueryId("q"), checkpoint="c"),
    last_batch=BatchId(1),
    digest=None,
    end_offsets="{}",
)


def metadata(batches: int = 2, **changes: Any) -> dict[str, Any]:
    """The metadata of a table with a snapshot per batch, each with two rows."""
    added = {"operation": "append", "added-data-files": "1", "added-records": "2"}
    row = replace(ROW, last_batch=BatchId(batches - 1))
    snapshots = [
        {
            "snapshot-id": number + 1,
            **({"parent-snapshot-id": number} if number else {}),
            "timestamp-ms": number,
            "schema-id": 0,
            "summary": {**added, **encode_note(replace(ROW, last_batch=BatchId(number)))},
        }
        for number in range(batches)
    ]
    return {
        "table-uuid": "u",
        "current-snapshot-id": batches,
        "properties": {property_of("readings"): encode_row(row, snapshot=batches, uuid="u")},
        "snapshots": snapshots,
        "refs": {"main": {"snapshot-id": batches, "type": "branch"}},
        "current-schema-id": 0,
        "schemas": [{"schema-id": 0, "fields": [{"id": 1, "name": "id", "type": "long"}]}],
        "metadata-log": [],
        **changes,
    }


class Lake:
    """A JDBC catalog in SQLite with one table, as Iceberg makes it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.database = home / "catalog.db"
        with closing(sqlite3.connect(self.database)) as connection, connection:
            connection.execute(
                "CREATE TABLE iceberg_tables (catalog_name VARCHAR(255), table_namespace "
                "VARCHAR(255), table_name VARCHAR(255), metadata_location VARCHAR(1000), "
                "previous_metadata_location VARCHAR(1000), iceberg_type VARCHAR(5))"
            )

    def write(self, name: str, found: Any) -> str:
        """Write a metadata file, which is not committed yet."""
        (self.home / name).write_text(found if isinstance(found, str) else json.dumps(found))
        return f"file:{self.home / name}"

    def commit(self, name: str, found: Any) -> str:
        location = self.write(name, found)
        with closing(sqlite3.connect(self.database)) as connection, connection:
            connection.execute("DELETE FROM iceberg_tables")
            connection.execute(
                "INSERT INTO iceberg_tables VALUES ('lake', 'db', 'readings', ?, NULL, 'TABLE')",
                [location],
            )
        return location


@pytest.fixture
def lake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lake:
    found = Lake(tmp_path)
    monkeypatch.setenv("LAKE_CATALOG", f"sqlite:///{found.database}")
    return found


OPEN: list[CatalogLedgerStore] = []


@pytest.fixture(autouse=True)
def closed_at_the_end() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().close()


def ledger(table: str = TABLE) -> Any:
    sink = hf.Iceberg(table=table, catalog="env:LAKE_CATALOG")
    found = sink.open_ledger()
    assert isinstance(found, CatalogLedgerStore)
    OPEN.append(found)
    return found


def test_what_the_catalog_calls_current_counts_and_not_the_newest_file(lake: Lake) -> None:
    lake.commit("00002-a.metadata.json", metadata(2))
    lake.write("00003-b.metadata.json", metadata(3))  # its driver was killed in the commit
    store = ledger()
    assert store.read("readings") == ROW
    assert store.table_version("readings") == "2"
    assert store.batch_versions("readings") == {0: "1", 1: "2"}
    assert store.examine(ROW) is None
    assert store.other_streams("readings") == ()
    assert store.find_obstacle(ROW, EmptyOutput(kept="2")) is None
    assert store.find_obstacle(ROW, RestoreOutput(kept="1", aside="2")) is None
    assert "no such snapshot" in store.find_obstacle(ROW, RestoreOutput(kept="9", aside="2"))
    assert not store.since("readings", generation=1).unclear
    lake.commit("00003-b.metadata.json", metadata(3))
    assert store.read("readings").last_batch == 2
    assert store.has_changed("readings", "2")
    store.close()


def test_a_contract_of_the_last_run_is_enough(lake: Lake) -> None:
    lake.commit("00002-a.metadata.json", metadata())
    contract = SinkContract(
        kind="iceberg", place=TABLE, label=TABLE, keys=(), secret="env:LAKE_CATALOG"
    )
    sink, store = open_recorded(contract, options={})
    assert sink == hf.Iceberg(table=TABLE, catalog="env:LAKE_CATALOG")
    assert sink.secret == "env:LAKE_CATALOG"
    assert store.read("readings") == ROW
    store.close()
    now = look_at_sink(contract, "readings", {})
    assert (now.row, now.table, now.versions, now.unreadable) == (ROW, "2", {0: "1", 1: "2"}, "")
    assert now.needs_spark
    assert now.keeps_versions


def test_no_table_and_a_namespace_with_levels(lake: Lake) -> None:
    lake.commit("00002-a.metadata.json", metadata())
    assert ledger("lake.db.other").read("readings") is None
    assert ledger("other.db.readings").read("readings") is None
    assert hf.Iceberg(table="lake.a.b.`c d`").parts == ("lake", "a", "b", "c d")


@pytest.mark.parametrize(
    ("found", "why"),
    [
        ("{", "is not the metadata"),
        (metadata(properties={property_of("readings"): "x"}), "is not a ledger row"),
    ],
)
def test_what_cannot_be_read_is_unknown_and_not_absent(lake: Lake, found: Any, why: str) -> None:
    lake.commit("00002-a.metadata.json", found)
    read = ledger().read("readings")
    assert isinstance(read, Unreadable)
    assert why in read.why


def test_a_metadata_file_that_is_gone_is_unknown(lake: Lake) -> None:
    lake.commit("00002-a.metadata.json", metadata())
    (lake.home / "00002-a.metadata.json").unlink()
    read = ledger().read("readings")
    assert isinstance(read, Unreadable)
    assert "00002-a.metadata.json is gone" in read.why


def test_an_expired_history_is_followed_through_older_files(lake: Lake) -> None:
    cut = metadata(5)
    cut["snapshots"] = cut["snapshots"][-1:]
    cut["properties"] = metadata(2)["properties"]
    log = [lake.write(f"0000{number}-a.metadata.json", metadata(number)) for number in (2, 3, 4)]
    cut["metadata-log"] = [{"timestamp-ms": 1, "metadata-file": each} for each in log]
    for each in cut["snapshots"]:
        each["summary"] = {"operation": "append"}
    lake.commit("00005-a.metadata.json", cut)
    assert ledger().examine(ROW) is None
    (lake.home / "00002-a.metadata.json").unlink()
    (lake.home / "00003-a.metadata.json").unlink()
    assert "do not show" in ledger().examine(ROW)


def test_nothing_is_committed_without_spark(lake: Lake) -> None:
    lake.commit("00002-a.metadata.json", metadata())
    store = ledger()
    calls: list[Callable[[], object]] = [
        lambda: store.fence(ROW, epoch=4, nonce="m"),
        lambda: store.replace(ROW, ROW),
        lambda: store.settle(ROW, ROW, KeepOutput()),
    ]
    for call in calls:
        with pytest.raises(ConfigError, match="Spark session with the catalog lake"):
            call()


def test_without_a_catalog_the_way_out_is_said() -> None:
    with pytest.raises(ConfigError, match="catalog="):
        hf.Iceberg(table=TABLE).open_ledger()


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("jdbc:postgresql://h/d", "JDBC URL"),
        ("thrift://metastore:9083", "begins with none of"),
        ("https://user:pw@host/", "no user"),
        ("https://host/?secret=x", "an option besides"),
        ("sqlite:////nowhere/at/all.db", ""),
    ],
)
def test_an_address_that_is_none_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, address: str, why: str
) -> None:
    monkeypatch.setenv("LAKE_CATALOG", address)
    read = ledger().read("readings")
    assert isinstance(read, Unreadable)
    assert why in read.why
    assert address not in shown(read.error)


def test_a_database_without_a_catalog_is_said(lake: Lake) -> None:
    with closing(sqlite3.connect(lake.database)) as connection, connection:
        connection.execute("DROP TABLE iceberg_tables")
    read = ledger().read("readings")
    assert isinstance(read, Unreadable)
    assert "no table iceberg_tables" in read.why


def test_a_start_compares_the_catalog_with_that_of_the_session(lake: Lake) -> None:
    lake.commit("00002-a.metadata.json", metadata())
    sink = hf.Iceberg(table=TABLE, catalog="env:LAKE_CATALOG")
    assert say_catalog(sink, "u") == ""
    assert say_catalog(sink, None) == ""
    assert say_catalog(hf.Iceberg(table=TABLE), "u") == ""
    with pytest.raises(IcebergTableError, match="another table"):
        say_catalog(sink, "v")
    with pytest.raises(IcebergTableError, match="no table"):
        say_catalog(hf.Iceberg(table="lake.db.t", catalog="env:LAKE_CATALOG"), "v")
    (lake.home / "00002-a.metadata.json").unlink()
    assert "is gone" in say_catalog(sink, "u")


class Rest:
    """A REST catalog that answers what it is given."""

    def __init__(self) -> None:
        self.answers: dict[str, tuple[int, Any]] = {}
        self.asked: list[tuple[str, str | None]] = []
        rest = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                rest.asked.append((self.path, self.headers.get("Authorization")))
                status, answer = rest.answers.get(self.path, (404, {}))
                self.send_response(status)
                if status == 302:
                    self.send_header("Location", "/elsewhere")
                self.end_headers()
                self.wfile.write(
                    answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                )

            def log_message(self, *_: object) -> None:
                pass

        self._server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@pytest.fixture
def rest(monkeypatch: pytest.MonkeyPatch) -> Iterator[Rest]:
    found = Rest()
    monkeypatch.setenv("LAKE_CATALOG", f"http://{found.address}/ice/?warehouse=w&token={TOKEN}")
    yield found
    found.close()


CONFIG, LOADED = "/ice/v1/config?warehouse=w", "/ice/v1/p/namespaces/db/tables/readings"


def test_a_rest_catalog_gives_the_metadata_itself(rest: Rest) -> None:
    rest.answers[CONFIG] = 200, {"defaults": {}, "overrides": {"prefix": "p"}}
    rest.answers[LOADED] = 200, {"metadata-location": "s3://b/v1", "metadata": metadata(2)}
    store = ledger()
    assert store.read("readings") == ROW
    rest.answers[LOADED] = 200, {"metadata-location": "s3://b/v2", "metadata": metadata(3)}
    assert store.read("readings").last_batch == 2
    assert rest.asked == [(path, f"Bearer {TOKEN}") for path in (CONFIG, LOADED, LOADED)]
    assert ledger("lake.db.other").read("readings") is None
    assert ledger("lake.a.b.c").read("readings") is None
    assert rest.asked[-1][0] == "/ice/v1/p/namespaces/a%1Fb/tables/c"
    rest.answers[CONFIG] = 200, {"overrides": {"prefix": "p", "namespace-separator": "%2E"}}
    assert ledger("lake.a.`b c`.c").read("readings") is None
    assert rest.asked[-1][0] == "/ice/v1/p/namespaces/a%2Eb%20c/tables/c"


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ((401, {}), "did not accept the token"),
        ((500, {}), "answered 500"),
        ((302, {}), "answered 302"),
        ((200, b"<html>"), "not that of an Iceberg REST catalog"),
        ((200, {"metadata": 1}), "is not the metadata"),
    ],
)
def test_another_answer_is_unknown(rest: Rest, answer: tuple[int, Any], why: str) -> None:
    rest.answers[CONFIG] = 200, {"defaults": {"prefix": "p"}}
    rest.answers[LOADED] = answer
    read = ledger().read("readings")
    assert isinstance(read, Unreadable)
    assert why in read.why
    assert "/elsewhere" not in [path for path, _ in rest.asked]
    assert TOKEN not in shown(read.error)


@pytest.mark.usefixtures("rest")
def test_no_catalog_at_its_address_is_no_missing_table() -> None:
    read = ledger().read("readings")
    assert isinstance(read, Unreadable)
    assert "no REST catalog" in read.why


def test_a_catalog_that_does_not_answer_is_unknown(rest: Rest) -> None:
    rest.close()
    read = ledger().read("readings")
    assert isinstance(read, Unreadable)
    assert "ConnectionRefusedError" in read.why
    rest.__init__()  # type: ignore[misc] # closed once more at the end


def shown(error: HoldfastError | None) -> str:
    """Return all that a traceback of an error could show, with the locals of its frames."""
    assert error is not None
    told = traceback.TracebackException.from_exception(error, capture_locals=True)
    return "".join(told.format()) + repr(error.__dict__)
