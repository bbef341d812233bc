"""MERGE by keys: the newest row stays, and what another writer inserted meanwhile counts."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.ledger import Apply, Skip
from holdfast.sinks.iceberg import write
from holdfast.testing.sink_batches import STREAM
from tests.iceberg.streams import Stream

MODES = ("copy-on-write", "merge-on-read")


@pytest.mark.parametrize("mode", MODES)
def test_the_newest_row_of_a_key_stays(spark: Any, table: str, mode: str) -> None:
    spark.sql(
        f"CREATE TABLE {table} (id bigint, name string) USING iceberg TBLPROPERTIES "
        f"('format-version'='2', 'write.merge.mode'='{mode}')"
    )
    stream = Stream(spark, table, keys=["id"], sequence_by="name").open()
    assert stream.write(0, [(1, "a"), (1, "c"), (2, "b")]) == Apply()
    assert stream.write(0, [(1, "a"), (1, "c"), (2, "b")]) == Skip()
    assert stream.write(1, [(1, "b"), (2, "d"), (3, None)]) == Apply()
    stream.holds((1, "c"), (2, "d"), (3, None))
    assert stream.write(2, []) == Apply()
    assert stream.write(3, [(3, "z")]) == Apply()
    stream.holds((1, "c"), (2, "d"), (3, "z"))
    assert set(stream.ledger.batch_versions(STREAM)) >= {0, 1, 2, 3}


def test_a_merge_that_only_inserts_sees_what_came_meanwhile(
    spark: Any, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream(spark, table, keys=["id"], sequence_by="name").open()
    assert stream.write(0, [(1, "a")]) == Apply()
    staged = write.BatchWrite._stage
    slipped: list[str] = []

    def stage(self: Any, *given: Any) -> Any:
        found = staged(self, *given)
        if found is not None and not slipped:
            slipped.append("in")
            stream.call("INSERT INTO {table} VALUES (7, 'other')")
        return found

    monkeypatch.setattr(write.BatchWrite, "_stage", stage)
    assert stream.write(1, [(7, "z")]) == Apply()
    assert slipped
    stream.holds((1, "a"), (7, "z"))


def test_an_append_is_carried_over_to_where_others_brought_main(
    spark: Any, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = Stream(spark, table).open(batches=1)
    staged = write.BatchWrite._stage

    def stage(self: Any, *given: Any) -> Any:
        found = staged(self, *given)
        stream.call("INSERT INTO {table} VALUES (7, 'other')")
        return found

    monkeypatch.setattr(write.BatchWrite, "_stage", stage)
    assert stream.write(1) == Apply()
    monkeypatch.undo()
    assert stream.write(2) == Apply()
    stream.holds((7, "other"), batches=3)
    versions = stream.ledger.batch_versions(STREAM)
    assert set(versions) >= {0, 1, 2}
    assert stream.ledger.since(STREAM, generation=1).unclear


def test_a_row_with_a_null_key_is_refused(spark: Any, table: str) -> None:
    stream = Stream(spark, table, keys=["id"], sequence_by="name").open(batches=1)
    with pytest.raises(Exception, match="NULL in its key"):
        stream.write(1, [(None, "a")])
    stream.holds(batches=1)
