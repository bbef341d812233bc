"""Where plain Delta loses or doubles rows around a restart, without a word: the exact figures.

Every trap is Delta's documented way of writing a stream once, and one thing that happens in
operation: a reset, a copy, a rewind, a restored table, a setting in the wrong place. After each
comes the same deed with Holdfast: exact, or refused by its code with nothing written.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from holdfast.sinks.delta.columns import DeltaTableError
from holdfast.streams.place import SharedCheckpointError
from tests.spark.delta_streams import TXN_APP_ID, DeltaStream, differs
from tests.spark.file_stream import wait_until_given_up

pytestmark = pytest.mark.sampled(4)


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> DeltaStream:
    return DeltaStream(
        spark.newSession(), tmp_path / "files", tmp_path / "streams/readings", tmp_path / "table"
    )


def codes(refused: hf.StartRefusedError) -> list[str]:
    return [finding.code for finding in refused.findings]


def test_reset_with_a_fixed_app_id_loses_what_comes_first(stream: DeltaStream) -> None:
    stream.add("a")
    stream.run_each(stream.appending_as("readings"))
    stream.forget_checkpoint()
    stream.add("b")
    stream.run_each(stream.appending_as("readings"), stream.read(files_per_batch=2))
    assert stream.judge("a", "b") == differs(rows_in=2, lost=1)


def test_guarded_such_a_reset_is_refused_and_exact_when_it_is_meant(stream: DeltaStream) -> None:
    stream.add("a")
    stream.run_guarded()
    stream.forget_checkpoint()
    stream.add("b")
    both = stream.read(files_per_batch=2)
    assert codes(stream.refusal(both)) == ["HF606"]
    assert stream.judge("a") == differs(rows_in=1)
    stream.spark.sql(f"TRUNCATE TABLE delta.`{stream.table}`")
    refused = stream.refusal(both)
    assert sorted(codes(refused)) == ["HF606", "HF608"]
    stream.run_guarded(both, accept=" ".join(":".join(each) for each in refused.nonces.items()))
    assert stream.judge("a", "b") == differs(rows_in=2)


def test_reset_of_the_native_sink_doubles(stream: DeltaStream) -> None:
    stream.add("a")
    stream.run_native()
    stream.forget_checkpoint()
    stream.run_native()
    assert stream.judge("a") == differs(rows_in=1, duplicated=1)


def test_guarded_a_reset_is_refused(stream: DeltaStream, tmp_path: Path) -> None:
    stream.add("a")
    stream.run_guarded()
    kept = stream.clone(tmp_path / "kept").checkpoint
    stream.forget_checkpoint()
    assert codes(stream.refusal()) == ["HF606"]
    stream.forget_checkpoint()
    kept.rename(stream.checkpoint)
    stream.add("b")
    stream.run_guarded()
    assert stream.judge("a", "b") == differs(rows_in=2)


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


def test_guarded_a_cloned_checkpoint_is_refused(stream: DeltaStream, tmp_path: Path) -> None:
    stream.add("a")
    stream.run_guarded()
    clone = stream.clone(tmp_path / "elsewhere/readings")
    stream.add("b")
    with pytest.raises(SharedCheckpointError):
        stream.run_guarded(stream="clone", checkpoint=str(clone.checkpoint))
    assert codes(clone.refusal(checkpoint=str(clone.checkpoint))) == ["HF602"]
    stream.add("c")
    stream.run_guarded(stream.read(files_per_batch=2))
    assert stream.judge("a", "b", "c") == differs(rows_in=3)


def test_a_rewound_batch_with_other_content_is_lost(stream: DeltaStream) -> None:
    stream.add("a")
    stream.run_native()
    stream.rewind(0, "commits", "offsets", "sources/0")
    stream.add("b")
    stream.run_native(stream.read(files_per_batch=2))
    assert stream.judge("a", "b") == differs(rows_in=2, lost=1)


def test_guarded_a_rewound_batch_is_refused_before_and_after_it_is_planned(
    stream: DeltaStream,
) -> None:
    for row in "ab":
        stream.add(row)
    stream.run_guarded()
    stream.rewind(1, "commits", "offsets", "sources/0")
    stream.add("c")
    both = stream.read(files_per_batch=2)
    assert codes(stream.refusal(both)) == ["HF604"]
    stream.run_each(lambda *_: None, both)  # somebody without Holdfast: batch 1 is b and c now
    assert codes(stream.refusal(both)) == ["HF605"]
    assert stream.judge("a", "b") == differs(rows_in=2)


def test_a_batch_run_again_after_restore_is_lost(stream: DeltaStream) -> None:
    stream.spark.sql(f"CREATE TABLE delta.`{stream.table}` (value STRING) USING delta")
    stream.add("a")
    stream.run_native()
    stream.spark.sql(f"RESTORE TABLE delta.`{stream.table}` TO VERSION AS OF 0")
    stream.rewind(0, "commits")
    stream.run_native()
    assert stream.judge("a") == differs(rows_in=1, lost=1)


def test_guarded_a_restored_table_is_refused(stream: DeltaStream) -> None:
    stream.add("a")
    stream.run_guarded()
    stream.spark.sql(f"RESTORE TABLE delta.`{stream.table}` TO VERSION AS OF 0")
    stream.rewind(0, "commits")
    assert codes(stream.refusal()) == ["HF608"]


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
    assert stream.judge("a") == differs(rows_in=1, duplicated=1)


def test_guarded_settings_on_the_outer_session_do_nothing(stream: DeltaStream) -> None:
    def run() -> None:
        query = hf.start(
            stream.read(),
            stream="readings",
            root=str(stream.checkpoint.parent),
            into=hf.Delta(path=str(stream.table), keys=["value"]),
        )
        stream.set_transaction("readings", version=0)  # while it runs
        query.processAllAvailable()
        query.stop()
        wait_until_given_up()
        stream.forget_settings()

    stream.add("a")
    run()
    stream.rewind(0, "commits")
    stream.add("b")
    run()
    assert {app for app, _ in stream.transactions()} == {"holdfast/readings/table"}
    assert stream.judge("a", "b") == differs(rows_in=2)


def test_the_second_statement_of_one_batch_is_lost(stream: DeltaStream) -> None:
    stream.append_row("a", app_id="readings", version=0)
    stream.append_row("b", app_id="readings", version=0)
    assert stream.judge("a", "b") == differs(rows_in=2, lost=1)


def test_guarded_two_sinks_of_one_table_are_refused(stream: DeltaStream) -> None:
    stream.add("a")
    both = [hf.Delta(path=str(stream.table), name=name) for name in ("one", "two")]
    with pytest.raises(hf.ConfigError, match="Two sinks of the stream are the same"):
        stream.run_guarded(into=both)
    assert not stream.table.exists()


def test_settings_left_behind_lose_the_write_of_somebody_else(stream: DeltaStream) -> None:
    stream.set_transaction("readings", version=0)
    for row in ("a", "of somebody else"):
        stream.row(row).write.format("delta").mode("append").save(str(stream.table))
    assert stream.judge("a", "of somebody else") == differs(rows_in=2, lost=1)


def test_guarded_settings_left_behind_are_refused_and_none_are_left(stream: DeltaStream) -> None:
    stream.add("a")
    stream.set_transaction("readings", version=0)
    with pytest.raises(DeltaTableError, match=TXN_APP_ID):
        stream.run_guarded()
    stream.forget_settings()
    stream.run_guarded(into=hf.Delta(path=str(stream.table), keys=["value"]))
    for row in ("of somebody else", "and more"):
        stream.row(row).write.format("delta").mode("append").save(str(stream.table))
    assert stream.judge("a", "of somebody else", "and more") == differs(rows_in=3)


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


def test_guarded_a_batch_without_rows_is_recorded(stream: DeltaStream) -> None:
    stream.add("a")
    picked = stream.read().where("value = 'b'")
    stream.run_guarded(picked)
    stream.rewind(0, "commits")
    stream.add("b")
    stream.run_guarded(picked)
    slots = [version % 2**32 for _, version in stream.transactions()]
    assert slots == [0, 1, 2, 0, 3]  # fence, row, batch 0; fence, batch 1
    assert stream.judge("b") == differs(rows_in=1)


STATE = "spark.sql.streaming.stateStore"
FORMAT_2 = {
    f"{STATE}.checkpointFormatVersion": "2",
    f"{STATE}.providerClass": "org.apache.spark.sql.execution.streaming.state."
    "RocksDBStateStoreProvider",
}


def test_the_native_sink_never_starts_again_with_state_of_format_2(stream: DeltaStream) -> None:
    for setting, value in FORMAT_2.items():
        stream.spark.conf.set(setting, value)
    stream.add("a")
    stream.run_native(stream.read().dropDuplicates())
    stream.rewind(0, "commits")  # as when killed between the sink's commit and Spark's
    stream.add("b")
    for _ in range(2):
        assert "CheckpointInfo length: 0" in stream.failure(stream.read().dropDuplicates())
    assert stream.judge("a", "b") == differs(rows_in=2, lost=1)


def test_guarded_state_of_format_2_starts_again_at_once(stream: DeltaStream) -> None:
    for setting, value in FORMAT_2.items():
        stream.spark.conf.set(setting, value)
    stream.add("a")
    stream.run_guarded(stream.read().dropDuplicates())
    stream.rewind(0, "commits")
    stream.add("a", "b")
    stream.run_guarded(stream.read().dropDuplicates())
    assert stream.judge("a", "b") == differs(rows_in=2)
