"""Where plain Delta loses or doubles rows around a restart, without a word: the exact figures.

Every trap is Delta's documented way of writing a stream once, and one thing that happens in
operation: a reset, a copy, a rewind, a restored table, a setting in the wrong place.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.spark.delta_streams import DeltaStream, differs


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> DeltaStream:
    return DeltaStream(
        spark.newSession(), tmp_path / "files", tmp_path / "checkpoint", tmp_path / "table"
    )


def test_reset_with_a_fixed_app_id_loses_what_comes_first(stream: DeltaStream) -> None:
    stream.add("a")
    stream.run_each(stream.appending_as("readings"))
    stream.forget_checkpoint()
    stream.add("b")
    stream.run_each(stream.appending_as("readings"), stream.read(files_per_batch=2))
    assert stream.judge("a", "b") == differs(rows_in=2, lost=1)


def test_reset_of_the_native_sink_doubles(stream: DeltaStream) -> None:
    stream.add("a")
    stream.run_native()
    stream.forget_checkpoint()
    stream.run_native()
    assert stream.judge("a") == differs(rows_in=1, doubled=1)


def test_a_cloned_checkpoint_and_its_original_lose_each_other(
    stream: DeltaStream, tmp_path: Path
) -> None:
    stream.add("a")
    stream.run_native()
    clone = stream.clone(tmp_path / "clone")
    stream.add("b")
    clone.run_native()
    stream.add("c")
    stream.run_native(stream.read(files_per_batch=2))  # the same batch, with more in it
    assert stream.judge("a", "b", "c") == differs(rows_in=3, lost=1)


def test_a_rewound_batch_with_other_content_is_lost(stream: DeltaStream) -> None:
    stream.add("a")
    stream.run_native()
    stream.rewind(0, "commits", "offsets", "sources/0")
    stream.add("b")
    stream.run_native(stream.read(files_per_batch=2))
    assert stream.judge("a", "b") == differs(rows_in=2, lost=1)


def test_a_batch_run_again_after_restore_is_lost(stream: DeltaStream) -> None:
    stream.spark.sql(f"CREATE TABLE delta.`{stream.table}` (value STRING) USING delta")
    stream.add("a")
    stream.run_native()
    stream.spark.sql(f"RESTORE TABLE delta.`{stream.table}` TO VERSION AS OF 0")
    stream.rewind(0, "commits")
    stream.run_native()
    assert stream.judge("a") == differs(rows_in=1, lost=1)


def test_merge_settings_on_the_outer_session_double(stream: DeltaStream) -> None:
    table = f"delta.`{stream.table}`"
    stream.spark.sql(f"CREATE TABLE {table} (value STRING) USING delta")

    def merge(batch: DataFrame, number: int) -> None:
        stream.set_transaction("readings", version=number)  # Spark runs the batch in a copy of it
        batch.createOrReplaceTempView("rows")
        batch.sparkSession.sql(
            f"MERGE INTO {table} USING rows ON false WHEN NOT MATCHED THEN INSERT *"
        )
        stream.forget_settings()

    stream.add("a")
    stream.run_each(merge)
    stream.rewind(0, "commits")
    stream.run_each(merge)
    assert stream.transactions() == []
    assert stream.judge("a") == differs(rows_in=1, doubled=1)


def test_the_second_statement_of_one_batch_is_lost(stream: DeltaStream) -> None:
    stream.append_row("a", app_id="readings", version=0)
    stream.append_row("b", app_id="readings", version=0)
    assert stream.judge("a", "b") == differs(rows_in=2, lost=1)


def test_settings_left_behind_lose_the_write_of_somebody_else(stream: DeltaStream) -> None:
    stream.set_transaction("readings", version=0)
    for row in ("a", "of somebody else"):
        stream.row(row).write.format("delta").mode("append").save(str(stream.table))
    assert stream.judge("a", "of somebody else") == differs(rows_in=2, lost=1)


def test_a_delete_that_found_nothing_runs_again_and_finds_something(stream: DeltaStream) -> None:
    stream.append_row("a", app_id="readings", version=0)

    def delete() -> None:
        stream.set_transaction("cleaning", version=0)
        stream.spark.sql(f"DELETE FROM delta.`{stream.table}` WHERE value = 'b'")
        stream.forget_settings()

    delete()
    stream.append_row("b", app_id="readings", version=1)
    delete()  # Spark runs the same batch again
    assert stream.judge("a", "b") == differs(rows_in=2, lost=1)


def test_the_native_sink_never_starts_again_with_state_of_format_2(stream: DeltaStream) -> None:
    stream.spark.conf.set("spark.sql.streaming.stateStore.checkpointFormatVersion", "2")
    stream.spark.conf.set(
        "spark.sql.streaming.stateStore.providerClass",
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider",
    )
    stream.add("a")
    stream.run_native(stream.read().dropDuplicates())
    stream.rewind(0, "commits")  # as when killed between the sink's commit and Spark's
    stream.add("b")
    for _ in range(2):
        assert "CheckpointInfo length: 0" in stream.failure(stream.read().dropDuplicates())
    assert stream.judge("a", "b") == differs(rows_in=2, lost=1)
