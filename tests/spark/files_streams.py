"""Streams of text files into a directory of files, guarded, in the session of the tests."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from tests.spark.file_stream import wait_until_given_up
from tests.spark.restarts import add_file


@dataclass(frozen=True, slots=True)
class FilesStream:
    """One stream: its input, one file per batch, and the directory that it writes to."""

    spark: SparkSession
    home: Path

    @property
    def out(self) -> Path:
        return self.home / "lake" / "readings"

    @property
    def hidden(self) -> Path:
        return self.home / "lake" / ".readings.holdfast"

    @property
    def ledger(self) -> Path:
        return self.hidden / "readings"

    def batch(self, number: int, *, generation: int = 1) -> Path:
        return self.out / f"hf_batch=readings.{generation}.{number:09d}"

    def add(self, *rows: str) -> None:
        """Add one file of input."""
        files = self.home / "files"
        files.mkdir(exist_ok=True)
        add_file(files, len(list(files.iterdir())), *rows)

    def read(self) -> DataFrame:
        reader = self.spark.readStream.format("text").option("maxFilesPerTrigger", 1)
        return reader.load(str(self.home / "files")).select(F.col("value").alias("name"))

    def sink(self, **more: Any) -> hf.Files:
        return hf.Files(str(self.out), **{"format": "json", **more})

    def run(self, df: DataFrame | None = None, **more: Any) -> None:
        """Run the stream over all there is."""
        given = {"into": self.sink(), "trigger": {"availableNow": True}, "stream": "readings"}
        query = hf.start(df or self.read(), root=str(self.home / "streams"), **{**given, **more})
        try:
            query.awaitTermination()
        finally:
            wait_until_given_up()

    def refusal(self, **more: Any) -> hf.StartRefusedError:
        before = self.rows()
        with pytest.raises(hf.StartRefusedError) as refused:
            self.run(**more)
        assert self.rows() == before
        return refused.value

    def rows(self) -> Counter[str]:
        """Return what a glob finds, of a program that knows nothing of Holdfast."""
        texts = (path.read_text() for path in self.out.glob("**/*.json"))
        return Counter(json.loads(line)["name"] for text in texts for line in text.splitlines())
