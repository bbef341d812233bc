"""What a drill compares of a stream's state: every row that Spark itself reads there."""

from __future__ import annotations

import tarfile
from collections import Counter
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from holdfast.drills.programs.kept_state import keep_state
from holdfast.drills.scratch import read_rows

ARCHIVES = Path(__file__).parents[1] / "checkpoints"
FORMAT = "spark.sql.streaming.stateStore.checkpointFormatVersion"
_OWN = {"0/count": 3, "0/last": 3, "0/seen": 12, "0/timers": 3, "0/values": 12}
ROWS = {
    "4.2-aggregation": {"0/default": 6},
    "4.2-aggregation-format-2": {"0/default": 6},
    "4.2-deduplication": {"0/default": 4},
    "4.2-join-rocksdb": {"0/left": 8, "0/right": 5},
    "4.2-join-one-store": {"0/left": 8, "0/right": 5},
    "4.2-two-operators": {"0/default": 1, "1/default": 1},
    "4.2-transform-with-state": _OWN,
    "4.2-transform-format-2": _OWN,
}


@pytest.fixture
def reader(spark: SparkSession) -> SparkSession:
    """A session in which a query was asked for: before, no state store can be opened."""
    session = spark.newSession()
    assert session.streams.active == []
    return session


def unpack(name: str, directory: Path) -> None:
    """Put a checkpoint there that `transformWithState` has written where its schema was."""
    with tarfile.open(ARCHIVES / f"{name}.tar.xz") as archive:
        archive.extractall(directory, filter="data")
    for path in directory.glob("checkpoint/state/*/_metadata/v2/[0-9]*"):
        was, _, rest = path.read_text().partition("/checkpoint/state/")
        if rest:
            start = was.rpartition('"')[0] + '"file:' + str(directory)
            path.write_text(f"{start}/checkpoint/state/{rest}")
            path.with_name(f".{path.name}.crc").unlink()


@pytest.mark.parametrize("name", ROWS)
def test_the_rows_of_every_store_are_kept(reader: SparkSession, tmp_path: Path, name: str) -> None:
    unpack(name, tmp_path)
    if name.endswith(("format-2", "one-store")):  # as in the session that has written it
        reader.conf.set(FORMAT, "2")
    keep_state(reader, tmp_path, tmp_path / "rows")
    assert Counter(row[0] for row in read_rows(tmp_path / "rows")) == ROWS[name]


def test_what_spark_cannot_read_is_not_kept(reader: SparkSession, tmp_path: Path) -> None:
    unpack("4.2-transform-with-state", tmp_path)
    (schema,) = tmp_path.glob("checkpoint/state/0/_stateSchema/default/0_*")
    schema.unlink()
    path = tmp_path / "rows"
    path.write_text("of the run before")
    keep_state(reader, tmp_path, path)
    assert not path.exists()
