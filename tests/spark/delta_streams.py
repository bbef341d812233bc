"""Streams of text files into a Delta table, a row a line: as people write them, and guarded."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from holdfast.proof.multiset import Difference, compare
from tests.spark.file_stream import wait_until_given_up
from tests.spark.restarts import add_file
from tests.spark.unchanged import unchanged_when_refused

TXN_APP_ID = "spark.databricks.delta.write.txnAppId"
TXN_VERSION = "spark.databricks.delta.write.txnVersion"

Batch = Callable[[DataFrame, int], None]


def differs(*, rows_in: int, lost: int = 0, duplicated: int = 0) -> Difference:
    """Return what a judgement says when so many rows are lost, and so many there twice."""
    return Difference(expected=rows_in, missing=lost, duplicated=duplicated, foreign=0)


@dataclass(frozen=True, slots=True)
class DeltaStream:
    """One stream: its files, its checkpoint, its table, and a session that is its own."""

    spark: SparkSession
    files: Path
    checkpoint: Path
    table: Path

    def add(self, *rows: str) -> None:
        """Add one file of input."""
        self.files.mkdir(exist_ok=True)
        add_file(self.files, len(list(self.files.iterdir())), *rows)

    def read(self, *, files_per_batch: int = 1) -> DataFrame:
        """Read the files as a stream."""
        reader = self.spark.readStream.format("text").option("maxFilesPerTrigger", files_per_batch)
        return reader.load(str(self.files))

    def run_native(self, stream: DataFrame | None = None) -> None:
        """Write what waits with Delta's own streaming sink, whose app id is the query's id."""
        writer = (stream or self.read()).writeStream.format("delta").trigger(availableNow=True)
        writer = writer.option("checkpointLocation", str(self.checkpoint))
        writer.start(str(self.table)).awaitTermination()

    def run_each(self, write: Batch, stream: DataFrame | None = None) -> None:
        """Write what waits with a function of the user's."""
        writer = (stream or self.read()).writeStream.foreachBatch(write).trigger(availableNow=True)
        writer.option("checkpointLocation", str(self.checkpoint)).start().awaitTermination()

    def run_guarded(self, df: DataFrame | None = None, **more: Any) -> None:
        """Write what waits with Holdfast; the checkpoint stands under the root by its name."""
        given = {
            "stream": self.checkpoint.name,
            "root": str(self.checkpoint.parent),
            "into": hf.Delta(path=str(self.table)),
            "trigger": {"availableNow": True},
        }
        try:
            with unchanged_when_refused(self.checkpoint.parent, self.table):
                query = hf.start(df or self.read(), **{**given, **more})
            query.awaitTermination()
        finally:
            wait_until_given_up()

    def refusal(self, df: DataFrame | None = None, **more: Any) -> hf.StartRefusedError:
        """Return the refusal of a guarded start, which must leave the table's log as it is."""
        before = self.transactions()
        with pytest.raises(hf.StartRefusedError) as refused:
            self.run_guarded(df, **more)
        assert self.transactions() == before
        return refused.value

    def appending_as(self, app_id: str) -> Batch:
        """Return the function that Delta's documentation recommends: batch id as version."""

        def write(batch: DataFrame, number: int) -> None:
            self.append(batch, app_id=app_id, version=number)

        return write

    def append(self, rows: DataFrame, *, app_id: str, version: int) -> None:
        """Append rows once for this app id and version."""
        writer = rows.write.format("delta").mode("append").option("txnAppId", app_id)
        writer.option("txnVersion", version).save(str(self.table))

    def append_row(self, row: str, *, app_id: str, version: int) -> None:
        """Append one row once for this app id and version."""
        self.append(self.row(row), app_id=app_id, version=version)

    def row(self, row: str) -> DataFrame:
        """Return one row as a frame."""
        return self.spark.createDataFrame([(row,)], "value string")

    def judge(self, *rows: str) -> Difference:
        """Compare the table with the rows that came in, each of which must be there once."""
        found = self.spark.read.format("delta").load(str(self.table)).collect()
        return compare([(row,) for row in rows], [tuple(row) for row in found])

    def transactions(self) -> list[tuple[str, int]]:
        """Return the app id and version of every transaction in the log, oldest first."""
        commits = sorted((self.table / "_delta_log").glob("*.json"))
        actions = [json.loads(line) for file in commits for line in file.read_text().splitlines()]
        return [(each["txn"]["appId"], each["txn"]["version"]) for each in actions if "txn" in each]

    def set_transaction(self, app_id: str, *, version: int) -> None:
        """Set app id and version for every statement of the session, the only way for MERGE."""
        self.spark.conf.set(TXN_APP_ID, app_id)
        self.spark.conf.set(TXN_VERSION, str(version))

    def forget_settings(self) -> None:
        """Take both settings away again."""
        self.spark.conf.unset(TXN_APP_ID)
        self.spark.conf.unset(TXN_VERSION)

    def forget_checkpoint(self) -> None:
        """Delete the checkpoint, as people do to make a query start again."""
        shutil.rmtree(self.checkpoint, ignore_errors=True)

    def rewind(self, batch: int, *logs: str) -> None:
        """Take one batch out of logs of the checkpoint, with the checksums beside them."""
        for log in logs:
            (self.checkpoint / log / str(batch)).unlink()
            (self.checkpoint / log / f".{batch}.crc").unlink()

    def clone(self, checkpoint: Path) -> DeltaStream:
        """Copy the checkpoint, for the same query in another driver."""
        shutil.copytree(self.checkpoint, checkpoint)
        return replace(self, spark=self.spark.newSession(), checkpoint=checkpoint)

    def failure(self, stream: DataFrame) -> str:
        """Run Delta's own sink and return the words it fails with; none when it does not."""
        try:
            self.run_native(stream)
        except (PySparkException, Py4JJavaError) as error:
            return str(error)
        return ""
