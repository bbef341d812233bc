"""A guarded stream into Iceberg: restarted, reset, taken back, rewound and proven."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import Any, ClassVar

import pytest
from pyspark.sql import functions as F

import holdfast as hf
from holdfast.proof.values import ProofVerdict
from tests.spark.file_stream import wait_until_given_up

STREAM = "readings"
_FIRST = 1_767_225_600


class Guarded:
    """A stream of text files, one per batch, into a table."""

    options: ClassVar[dict[str, Any]] = {}

    def __init__(self, spark: Any, table: str, directory: Path) -> None:
        self.spark, self.table = spark, table
        self.files, self.root = directory / "files", str(directory / "streams")
        self.files.mkdir()

    def add(self, number: int) -> None:
        file = self.files / f"f{number:03}"
        file.write_text(f"{2 * number}\n{2 * number + 1}\n")
        os.utime(file, (_FIRST + number,) * 2)  # Spark reads the oldest first

    def rows(self, spark: Any) -> Any:
        lines = spark.readStream.format("text").option("maxFilesPerTrigger", 1)
        return lines.load(str(self.files)).select(F.col("value").cast("long").alias("id"))

    @property
    def sink(self) -> hf.Iceberg:
        return hf.Iceberg(table=self.table, **self.options)

    def run(self) -> None:
        query = hf.start(
            self.rows(self.spark),
            stream=STREAM,
            into=self.sink,
            root=self.root,
            trigger={"availableNow": True},
        )
        query.awaitTermination()
        wait_until_given_up()

    def prove(self) -> Any:
        """Return what a proof compares, and how."""
        pipeline = hf.Pipeline("lake", root=self.root)
        pipeline.stream(STREAM, into=self.sink)(self.rows)
        (found,) = pipeline.prove(self.spark).tables
        return found

    def is_proven(self, files: int) -> None:
        """See that the table has the rows of so many files, and that a proof says so."""
        self.holds(files)
        found = self.prove()
        assert found.verdict is ProofVerdict.EXACT, found
        assert (found.compared.expected, found.compared.found) == (2 * files, 2 * files)

    def holds(self, files: int) -> None:
        self.spark.catalog.refreshTable(self.table)
        found = Counter(row[0] for row in self.spark.table(self.table).collect())
        assert found == Counter(range(2 * files))

    def apply(self, plan: Any) -> str:
        assert isinstance(plan, hf.Plan), plan
        return hf.apply_plan(plan, allow=plan.words, spark=self.spark)


@pytest.fixture
def stream(spark: Any, table: str, tmp_path: Path) -> Guarded:
    found = Guarded(spark, table, tmp_path)
    for number in range(3):
        found.add(number)
    found.run()
    found.holds(3)
    return found


def test_a_restart_goes_on(stream: Guarded) -> None:
    stream.add(3)
    stream.run()
    stream.holds(4)


def test_a_reset_is_exact_and_is_taken_back(stream: Guarded) -> None:
    plan = hf.plan_reset(STREAM, root=stream.root, start="earliest", output="truncate")
    journal = stream.apply(plan)
    stream.holds(0)
    stream.apply(hf.plan_undo(journal, spark=stream.spark))
    stream.is_proven(3)
    stream.add(3)
    stream.run()
    stream.is_proven(4)


def test_a_reset_reads_everything_again(stream: Guarded) -> None:
    stream.apply(hf.plan_reset(STREAM, root=stream.root, start="earliest", output="truncate"))
    stream.run()
    stream.is_proven(3)


def test_a_reset_from_here_keeps_the_rows(stream: Guarded) -> None:
    stream.apply(hf.plan_reset(STREAM, root=stream.root, start="here", output="keep-from-here"))
    stream.add(3)
    stream.run()
    stream.is_proven(4)


def test_a_rewind_is_exact_and_is_taken_back(stream: Guarded) -> None:
    journal = stream.apply(hf.plan_rewind(STREAM, root=stream.root, to_batch=0))
    stream.is_proven(1)
    stream.apply(hf.plan_undo(journal, spark=stream.spark))
    stream.holds(3)
    stream.add(3)
    stream.run()
    stream.is_proven(4)


def test_a_rewound_stream_goes_on(stream: Guarded) -> None:
    stream.apply(hf.plan_rewind(STREAM, root=stream.root, to_batch=1))
    stream.holds(2)
    stream.run()
    stream.is_proven(3)


def test_a_proof_finds_rows_of_another_writer_and_lost_ones(stream: Guarded) -> None:
    stream.spark.sql(f"INSERT INTO {stream.table} VALUES (0), (100)")
    stream.spark.sql(f"DELETE FROM {stream.table} WHERE id = 5")
    compared = stream.prove().compared
    assert (compared.lost, compared.duplicated, compared.unexpected) == (1, 1, 1)


def test_another_writers_rows_are_not_taken_away(stream: Guarded) -> None:
    stream.spark.sql(f"INSERT INTO {stream.table} VALUES (100)")
    found = hf.plan_rewind(STREAM, root=stream.root, to_batch=0)
    assert isinstance(found, hf.NoPlan)
    assert "another writer" in found.reason


def test_a_deleted_checkpoint_is_refused(stream: Guarded) -> None:
    checkpoint = Path(stream.root) / STREAM
    checkpoint.rename(checkpoint.with_name("elsewhere"))
    with pytest.raises(hf.StartRefusedError) as refused:
        stream.run()
    assert [finding.code for finding in refused.value.findings] == ["HF606"]
    stream.holds(3)


def test_a_table_that_was_rolled_back_is_refused_and_accepted_by_its_code(stream: Guarded) -> None:
    first = stream.spark.sql(
        f"SELECT snapshot_id FROM {stream.table}.snapshots WHERE summary['holdfast.batch'] = '0'"
    ).first()[0]
    short = stream.table.partition(".")[2]
    stream.spark.sql(f"CALL ice.system.rollback_to_snapshot('{short}', {first})")
    stream.holds(1)
    with pytest.raises(hf.StartRefusedError) as refused:
        stream.run()
    assert [finding.code for finding in refused.value.findings] == ["HF608"]
