"""What other people do to an Iceberg table: carried over, or refused with nothing written."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.ledger import Apply
from holdfast.sinks.iceberg.notes import branch_of
from holdfast.testing.sink_batches import STREAM
from holdfast.testing.sink_contract import StoppedWritingError
from tests.iceberg.streams import Stream

CHANGED = "TABLE_CHANGED"
HARMLESS = {
    "insert": ["INSERT INTO {table} VALUES (100, 'other')"],
    "delete of some rows": ["DELETE FROM {table} WHERE id = 1"],
    "compaction": [
        "CALL ice.system.rewrite_data_files(table => '{short}', "
        "options => map('min-input-files', '2'))"
    ],
    "expiry": [
        "CALL ice.system.expire_snapshots(table => '{short}', "
        "older_than => TIMESTAMP '2100-01-01 00:00:00', retain_last => 1)"
    ],
    "a branch is cherry-picked": [
        "ALTER TABLE {table} CREATE BRANCH side",
        "INSERT INTO {table}.branch_side VALUES (100, 'other')",
        "CALL ice.system.fast_forward('{short}', 'main', 'side')",
    ],
    "a column is added": ["ALTER TABLE {table} ADD COLUMN more int"],
}
HARMFUL = {
    "rollback": (["CALL ice.system.rollback_to_snapshot('{short}', {first})"], "rolled back"),
    "another current snapshot": (
        ["CALL ice.system.set_current_snapshot('{short}', {first})"],
        "rolled back",
    ),
    "truncate": (["DELETE FROM {table}"], "every row"),
    "overwrite": (["INSERT OVERWRITE {table} VALUES (100, 'other')"], "every row"),
    "create or replace": (
        ["CREATE OR REPLACE TABLE {table} (id bigint, name string) USING iceberg"],
        "empty",
    ),
    "drop and create": (
        ["DROP TABLE {table}", "CREATE TABLE {table} (id bigint, name string) USING iceberg"],
        "",
    ),
    "rollback, insert, expiry": (
        [
            "CALL ice.system.rollback_to_snapshot('{short}', {first})",
            "INSERT INTO {table} VALUES (100, 'other')",
            *HARMLESS["expiry"],
        ],
        "does not come from",
    ),
}


def stage_only(stream: Stream, number: int) -> None:
    """Write a batch to its branch, and stop before it is published."""

    def stop(_: int) -> None:
        raise StoppedWritingError

    attempt = stream.batches.attempt(stream.writer, number)
    with pytest.raises(StoppedWritingError):
        stream.writer.write(attempt, stream.batches.frame(stream.rows(number)), before_commit=stop)


@pytest.mark.parametrize("name", HARMLESS)
def test_what_others_write_stays_and_the_next_batch_follows(
    spark: Any, table: str, name: str
) -> None:
    stream = Stream(spark, table).open(batches=2)
    for statement in HARMLESS[name]:
        stream.call(statement)
    assert stream.examine() is None
    before = [tuple(row)[:2] for row in spark.table(table).collect()]
    assert stream.write(2) == Apply()
    assert stream.write(3) == Apply()
    spark.catalog.refreshTable(table)
    found = sorted(tuple(row)[:2] for row in spark.table(table).collect())
    assert found == sorted([*before, *stream.rows(2), *stream.rows(3)])


@pytest.mark.parametrize("name", HARMFUL)
def test_a_table_that_lost_rows_takes_no_batch(spark: Any, table: str, name: str) -> None:
    statements, why = HARMFUL[name]
    stream = Stream(spark, table).open(batches=2)
    first = stream.snapshots()[1]
    for statement in statements:
        stream.call(statement, first=first)
    before = sorted(map(tuple, spark.table(table).collect()))
    refused = stream.refusal(2)
    assert refused.startswith((CHANGED, "NO_ROW")), refused
    assert why in refused
    spark.catalog.refreshTable(table)
    assert sorted(map(tuple, spark.table(table).collect())) == before


def test_a_dropped_table_takes_no_batch(spark: Any, table: str) -> None:
    stream = Stream(spark, table).open(batches=1)
    stream.call("DROP TABLE {table}")
    assert "dropped or renamed" in stream.refusal(1)
    assert not spark.catalog.tableExists(table)


def test_a_change_that_was_accepted_is_gone_after_the_fence(spark: Any, table: str) -> None:
    stream = Stream(spark, table).open(batches=2)
    stream.call("DELETE FROM {table}")
    assert stream.examine()
    row: Any = stream.ledger.read(STREAM)
    assert stream.ledger.fence(row, epoch=2, nonce="n2") is not None
    assert stream.examine() is None


def test_a_change_that_nobody_has_judged_outlives_the_fence(spark: Any, table: str) -> None:
    stream = Stream(spark, table).open(batches=2)
    assert stream.examine() is None
    row: Any = stream.ledger.read(STREAM)
    stream.call("DELETE FROM {table}")
    assert stream.ledger.fence(row, epoch=2, nonce="n2") is not None
    assert stream.examine()


def test_what_was_staged_and_is_published_by_hand_is_noticed(spark: Any, table: str) -> None:
    stream = Stream(spark, table).open(batches=2)
    stage_only(stream, 2)
    stream.holds(batches=2)
    branch = branch_of(STREAM, 1)
    stream.call("CALL ice.system.fast_forward('{short}', 'main', '{branch}')", branch=branch)
    stream.holds(batches=3)
    assert "published what the stream had staged" in stream.refusal(2)


def test_a_fence_takes_the_branch_away_and_leaves_the_history(spark: Any, table: str) -> None:
    stream = Stream(spark, table).open(batches=2)
    # With this an expiry would take along all that no ref needs.
    stream.call("ALTER TABLE {table} SET TBLPROPERTIES ('history.expire.max-snapshot-age-ms'='1')")
    published = set(stream.snapshots())
    stage_only(stream, 2)
    row: Any = stream.ledger.read(STREAM)
    assert stream.ledger.fence(row, epoch=2, nonce="n2") is not None
    metadata = stream.ledger.metadata(STREAM)
    assert metadata is not None
    assert {each.snapshot_id for each in metadata.history()} > published
    assert set(metadata.refs) == {"main", branch_of(STREAM, 2)}
    assert stream.refusal(2) == "EPOCH_FENCED"
    assert stream.write(2, epoch=2, nonce="n2") == Apply()
    stream.holds(batches=3)
