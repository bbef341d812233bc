"""What we say Spark will do, it does: each row on a damaged copy of a real checkpoint.

The stream reads files one by one and has run batches 0 to 4; before each restart a new file waits.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.spark.damages import TEMP, Damage, cut, nothing, remove, write
from tests.spark.restarts import (
    BATCHES,
    Happened,
    Rows,
    add_file,
    agrees,
    predict,
    read_files,
    start,
)


def row_of(batch: int) -> Rows:
    return [(f"row {batch}",)]


@pytest.fixture(scope="module")
def original(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("original")
    files = home / "input"
    files.mkdir()
    for number in range(BATCHES):
        add_file(files, number, f"row {number}")
    happened = start(read_files(spark, files), home / "checkpoint")
    assert happened == Happened(batches={n: row_of(n) for n in range(BATCHES)})
    add_file(files, BATCHES, f"row {BATCHES}")
    return home


def only(path: str, content: bytes) -> Damage:
    def damage(checkpoint: Path) -> None:
        shutil.rmtree(checkpoint)
        write(path, content)(checkpoint)

    return damage


CASES: dict[str, Damage] = {
    "clean": nothing,
    "pending": remove("commits/4"),
    "two-without-commit": remove("commits/3", "commits/4"),
    "pending-by-hand": remove("commits/4", sidecars=False),
    "rewound": remove("offsets/4", "commits/4"),
    "rewound-by-hand": remove("offsets/4", "commits/4", sidecars=False),
    "no-commits": remove("commits"),
    "newest-offset-deleted": remove("offsets/4"),
    "two-newest-offsets-deleted": remove("offsets/3", "offsets/4"),
    "entry-before-newest-deleted": remove("offsets/3"),
    "entry-further-down-deleted": remove("offsets/1", "commits/1"),
    "offsets-deleted": remove("offsets"),
    "metadata-deleted": remove("metadata"),
    "metadata-empty": write("metadata", b""),
    "metadata-not-json": write("metadata", b"{id"),
    "everything-deleted": remove("."),
    "newest-offset-empty": write("offsets/4", b""),
    "newest-offset-cut": cut("offsets/4"),
    "newest-offset-not-a-version": write("offsets/4", b"PK\x03\x04"),
    "newest-offset-of-a-newer-version": write("offsets/4", b"v9\n{}\n5"),
    "entry-before-newest-empty": write("offsets/3", b""),
    "entry-further-down-empty": write("offsets/1", b""),
    "newest-commit-empty": write("commits/4", b""),
    "newest-commit-cut": cut("commits/4"),
    "newest-commit-without-body": write("commits/4", b"v1"),
    "older-commit-empty": write("commits/2", b""),
    "leftover-of-a-later-batch": write("offsets/" + TEMP.format(5), b""),
    "leftover-of-batch-0-alone": only("offsets/" + TEMP.format(0), b""),
    "foreign-file": write("offsets/8.bak", b"v1"),
}


@pytest.mark.parametrize("damage", CASES.values(), ids=list(CASES))
def test_spark_does_what_we_say(
    spark: SparkSession, original: Path, *, damage: Damage, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(original / "checkpoint", checkpoint)
    damage(checkpoint)
    predicted = predict(checkpoint)
    happened = start(read_files(spark, original / "input"), checkpoint)
    told = f"{predicted}\n{happened.batches}\n{happened.error}"
    assert agrees(predicted, happened, rows_of=row_of), told
