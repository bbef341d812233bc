"""The ledger is read without a session, from what the catalog of the session calls current."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import pytest

import holdfast as hf
from holdfast.ledger import LedgerRow
from holdfast.ledger.output import EmptyOutput, RestoreOutput
from holdfast.ledger.store import Unreadable
from holdfast.sinks.iceberg.catalog_ledger import CatalogLedgerStore
from holdfast.sinks.iceberg.failures import IcebergTableError
from holdfast.testing.sink_batches import STREAM
from lab import Postgres
from lab.versions import REPOSITORY
from tests.iceberg.streams import Stream
from tests.iceberg.test_plans import Guarded

CATALOG = "env:HOLDFAST_TEST_CATALOG"


def both(stream: Stream) -> tuple[Any, Any]:
    """The ledger by the session, and by the catalog."""
    found = hf.Iceberg(table=stream.table, catalog=CATALOG).open_ledger()
    assert isinstance(found, CatalogLedgerStore)
    return stream.ledger, found


def test_both_read_the_same(spark: Any, table: str) -> None:
    stream = Stream(spark, table, catalog=CATALOG).open(batches=3)
    by_session, by_catalog = both(stream)
    row: Any = by_session.read(STREAM)
    assert isinstance(row, LedgerRow)
    for _ in range(2):
        row = by_session.read(STREAM)
        assert by_catalog.read(STREAM) == row
        for name in ("table_version", "batch_versions", "other_streams"):
            assert getattr(by_catalog, name)(STREAM) == getattr(by_session, name)(STREAM)
        assert by_catalog.since(STREAM, generation=1) == by_session.since(STREAM, generation=1)
        for output in (EmptyOutput(kept="1"), RestoreOutput(kept="1", aside="2")):
            assert by_catalog.find_obstacle(row, output) == by_session.find_obstacle(row, output)
        assert by_catalog.examine(row) == by_session.examine(row)
        stream.call("DELETE FROM {table}")
    assert by_catalog.examine(row)
    by_catalog.close()


def test_an_expired_history_is_followed_without_a_session(spark: Any, table: str) -> None:
    stream = Stream(spark, table).open(batches=2)
    row: Any = stream.ledger.read(STREAM)
    for number in range(3):
        stream.call(f"INSERT INTO {{table}} VALUES ({100 + number}, 'other')")
    stream.call(
        "CALL ice.system.expire_snapshots(table => '{short}', "
        "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"
    )
    by_session, by_catalog = both(stream)
    assert by_session.examine(row) is None
    assert by_catalog.examine(row) is None


def test_a_table_that_is_not_there_has_no_row(spark: Any, table: str) -> None:
    stream = Stream(spark, table, catalog=CATALOG).open()
    stream.call("DROP TABLE {table}")
    assert both(stream)[1].read(STREAM) is None


def test_another_catalog_than_that_of_the_session_is_refused(
    spark: Any, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Stream(spark, table).open()
    monkeypatch.setitem(os.environ, "HOLDFAST_TEST_CATALOG", os.environ["HOLDFAST_TEST_OTHER"])
    with pytest.raises(IcebergTableError, match="no table of this name"):
        Stream(spark, table, catalog=CATALOG)


def test_a_database_without_a_catalog_is_said(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "HOLDFAST_TEST_CATALOG", postgres.dsn("postgres"))
    read = hf.Iceberg(table="ice.db.t", catalog=CATALOG).open_ledger()
    assert read is not None
    found = read.read(STREAM)
    assert isinstance(found, Unreadable)
    assert "no table iceberg_tables" in found.why
    read.close()


def holdfast(*words: str, ends: int = 0) -> Any:
    """Run a command in a process that has no session and no PySpark to start one."""
    command = [sys.executable, "-W", "ignore", "-m", "holdfast", *words]
    variables = {**os.environ, "PYTHONPATH": str(REPOSITORY / "src"), "SPARK_HOME": "/nowhere"}
    ran = subprocess.run(command, check=False, capture_output=True, text=True, env=variables)
    assert ran.returncode == ends, f"{ran.stdout}{ran.stderr}"
    return json.loads(ran.stdout) if "json" in words else ran.stdout


class Readable(Guarded):
    """A stream whose catalog commands without Spark know."""

    options: ClassVar[dict[str, Any]] = {"catalog": CATALOG}


def test_commands_read_judge_and_plan_without_spark(spark: Any, table: str, tmp_path: Path) -> None:
    stream = Readable(spark, table, tmp_path)
    for number in range(3):
        stream.add(number)
    stream.run()
    root = ("--root", stream.root)
    assert table in holdfast("facts", "readings", *root)
    judged = holdfast("diagnose", "readings", *root)
    assert "Nothing in checkpoint and ledgers speaks against a restart" in judged
    plan = tmp_path / "plan.json"
    rewind = ("plan", "rewind", "readings", *root, "--to-batch", "0", "--out", str(plan))
    assert "an Iceberg table" in holdfast(*rewind)
    holdfast("apply", str(plan))
    stream.holds(3)
    journal = hf.apply_plan(
        hf.read_plan(str(plan)), allow=hf.read_plan(str(plan)).words, spark=spark
    )
    stream.holds(1)
    holdfast("undo", journal)
    stream.apply(hf.plan_undo(journal))
    stream.holds(3)
    stream.add(3)
    stream.run()
    stream.holds(4)
    spark.sql(f"DELETE FROM {table}")
    assert "HF608" in holdfast("diagnose", "readings", *root, ends=1)
