"""Where a user's own stream runs in a drill: a sample as its source, a directory as its sink."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from holdfast.drills.history import Row, format_row, parse_row
from holdfast.errors import ConfigError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

FEWEST_FILES = 6
_ENDINGS = {".parquet": "parquet", ".json": "json", ".csv": "csv", ".txt": "text"}


class Scratch(msgspec.Struct, frozen=True, kw_only=True):
    """What the function that starts the stream is given beside the session."""

    home: Path
    sample: Path | None

    @property
    def checkpoint(self) -> str:
        """Where the query keeps its checkpoint."""
        return str(self.home / "checkpoint")

    @property
    def root(self) -> str:
        """Where guarded streams keep their checkpoints and records."""
        return str(self.home / "streams")

    @property
    def sink(self) -> str:
        """Where the stream writes to: a directory that is not there yet."""
        return str(self.home / "sink")

    def source(self, spark: SparkSession) -> DataFrame:
        """Return the sample as a stream, one file per batch, in the order of their names.

        Raises:
            ConfigError: There is no sample, or its kind is not known.
        """
        if self.sample is None:
            raise ConfigError(
                "The stream reads scratch.source(), but the drill has no sample. Pass "
                "--source-sample DIR (sample= in a test)."
            )
        kind, files = kind_of_sample(self.sample), str(self.sample)
        reader = spark.readStream.format(kind).option("maxFilesPerTrigger", 1)
        return reader.schema(spark.read.format(kind).load(files).schema).load(files)

    def rows(self, spark: SparkSession) -> DataFrame:
        """Return what is in the sink: a Delta table, or files of the sample's or Parquet's kind."""
        sink = Path(self.sink)
        kind = "delta" if (sink / "_delta_log").exists() else "parquet"
        return spark.read.format(kind).load(self.sink)


def kind_of_sample(sample: Path) -> str:
    """Return what kind of files a sample has.

    Raises:
        ConfigError: There are too few, or they are of no kind that is known.
    """
    if not sample.is_dir():
        raise ConfigError(f"{sample} is not a directory with a sample of the source.")
    files = [path for path in sample.iterdir() if not path.name.startswith(("_", "."))]
    if len(files) < FEWEST_FILES:
        raise ConfigError(
            f"{sample} has {len(files)} files. A drill needs {FEWEST_FILES} or more, one per batch."
        )
    endings = {path.suffix for path in files}
    kinds = {_ENDINGS.get(ending) for ending in endings}
    if len(kinds) != 1 or None in kinds:
        known = ", ".join(_ENDINGS)
        raise ConfigError(f"{sample} must have files of one kind: {known}.")
    return str(kinds.pop())


def keep_rows(frames: Iterable[tuple[str, DataFrame]], path: Path) -> None:
    """Write what is in the sinks where the drill finds it, whole or not at all."""
    half_made = path.with_suffix(".tmp")
    with half_made.open("w") as file:
        for name, frame in frames:
            for row in frame.collect():
                file.write(format_row([name, *row]) + "\n")
    half_made.rename(path)


def read_rows(path: Path) -> list[Row]:
    """Return what was kept there."""
    return [parse_row(line) for line in path.read_text().splitlines()]
