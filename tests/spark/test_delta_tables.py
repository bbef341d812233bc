"""Tables of Delta that the stream did not make itself, and logs that were cleaned up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.sinks.delta.columns import DeltaTableError
from tests.spark.delta_streams import DeltaStream, differs
from tests.spark.file_stream import remove
from tests.writers import open_writer

pytestmark = pytest.mark.sampled(2)

COMMITS_TO_A_CHECKPOINT = 10


@pytest.fixture
def stream(spark: SparkSession, tmp_path: Path) -> DeltaStream:
    found = DeltaStream(
        spark.newSession(), tmp_path / "files", tmp_path / "streams/readings", tmp_path / "table"
    )
    found.add("a")
    return found


def create(stream: DeltaStream, columns: str) -> None:
    stream.spark.sql(f"CREATE TABLE delta.`{stream.table}` ({columns}) USING delta")


def test_rows_are_appended_to_a_table_with_more_columns(stream: DeltaStream) -> None:
    create(stream, "value STRING, more INT")
    stream.run_guarded()
    found = stream.spark.read.format("delta").load(str(stream.table)).collect()
    assert [tuple(row) for row in found] == [("a", None)]


def test_rows_are_merged_into_a_table_with_more_columns(stream: DeltaStream) -> None:
    create(stream, "value STRING, more INT")
    stream.run_guarded(into=hf.Delta(path=str(stream.table), keys=["value"]))
    found = stream.spark.read.format("delta").load(str(stream.table)).collect()
    assert [tuple(row) for row in found] == [("a", None)]


def test_a_column_that_must_not_be_null_and_is_not_given_is_refused(stream: DeltaStream) -> None:
    create(stream, "value STRING, more INT NOT NULL")
    with pytest.raises(DeltaTableError, match="more"):
        stream.run_guarded()


Commits = Callable[[DeltaStream], None]


def start_without_data(stream: DeltaStream) -> None:
    """Fence the table as ten starts do."""
    sink = hf.Delta(path=str(stream.table))
    sink = open_writer(sink, stream.read())
    for _ in range(COMMITS_TO_A_CHECKPOINT):
        row = sink.ledger.read("readings")
        assert row is not None
        assert sink.ledger.fence(row, epoch=row.epoch + 1, nonce="later")


def write_by_hand(stream: DeltaStream) -> None:
    """Write to the table as somebody else."""
    for _ in range(COMMITS_TO_A_CHECKPOINT):
        stream.row("by hand").write.format("delta").mode("append").save(str(stream.table))


def clean_up_log(stream: DeltaStream, commit: Commits) -> None:
    """Commit until Delta makes a checkpoint, and delete what is older, as Delta does in time."""
    commit(stream)
    (checkpoint,) = (stream.table / "_delta_log").glob("*.checkpoint.parquet")
    for file in (stream.table / "_delta_log").glob("*.json"):
        if int(file.stem) < int(checkpoint.name.split(".")[0]):
            remove(file)


def test_a_row_that_was_cleaned_up_is_refused_and_can_be_accepted(stream: DeltaStream) -> None:
    stream.run_guarded()
    clean_up_log(stream, write_by_hand)
    stream.add("b")
    refused = stream.refusal()
    assert [finding.code for finding in refused.findings] == ["HF601"]
    stream.run_guarded(accept=f"HF601:{refused.nonces['HF601']}")
    by_hand = ["by hand"] * COMMITS_TO_A_CHECKPOINT
    assert stream.judge("a", "b", *by_hand) == differs(rows_in=2 + len(by_hand))


def test_starts_without_new_data_do_not_age_the_row(stream: DeltaStream) -> None:
    stream.run_guarded()
    clean_up_log(stream, start_without_data)
    stream.add("b")
    stream.run_guarded()
    assert stream.judge("a", "b") == differs(rows_in=2)
