"""What we say Spark will do, Spark 4.2 does: each row on a damaged copy of a real checkpoint.

The stream reads files one by one and has run batches 0 to 4; before each restart a new file waits.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from holdfast.checkpoint import read_checkpoint
from holdfast.evidence import (
    NextStart,
    Refuses,
    Resumes,
    RunsAgain,
    StartsFresh,
    predict_next_start,
)
from holdfast.storage import open_reader

TEMP = ".{}.3b1e0000-0000-4000-8000-000000000000.tmp"
BATCHES = 5


@dataclass
class Happened:
    """What a start did."""

    batches: dict[int, list[str]] = field(default_factory=dict)
    error: str | None = None


def start(spark: SparkSession, files: Path, checkpoint: Path) -> Happened:
    happened = Happened()

    def record(batch: DataFrame, number: int) -> None:
        happened.batches[number] = sorted(row.value for row in batch.collect())

    try:
        source = spark.readStream.format("text").option("maxFilesPerTrigger", 1)
        query = (
            source.load(str(files))
            .writeStream.foreachBatch(record)
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    except (PySparkException, Py4JJavaError) as error:
        happened.error = str(error)
    return happened


def add_file(files: Path, number: int) -> None:
    """Add a file; Spark takes files in the order of their times."""
    file = files / f"f{number}"
    file.write_text(f"row {number}\n")
    os.utime(file, (1_700_000_000 + number, 1_700_000_000 + number))


@pytest.fixture(scope="module")
def original(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("original")
    files = home / "input"
    files.mkdir()
    for number in range(BATCHES):
        add_file(files, number)
    happened = start(spark, files, home / "checkpoint")
    assert happened == Happened(batches={n: [f"row {n}"] for n in range(BATCHES)})
    add_file(files, BATCHES)
    return home


Damage = Callable[[Path], None]


def remove(*paths: str, sidecars: bool = True) -> Damage:
    """Delete files, with their checksums unless somebody forgets them, or whole directories."""

    def damage(checkpoint: Path) -> None:
        for path in paths:
            target = checkpoint / path
            if target.is_dir():
                shutil.rmtree(target)
                continue
            target.unlink()
            if sidecars:
                target.with_name(f".{target.name}.crc").unlink()

    return damage


def write(path: str, content: bytes) -> Damage:
    def damage(checkpoint: Path) -> None:
        (checkpoint / path).parent.mkdir(parents=True, exist_ok=True)
        (checkpoint / path).write_bytes(content)

    return damage


def cut(path: str) -> Damage:
    def damage(checkpoint: Path) -> None:
        raw = (checkpoint / path).read_bytes()
        (checkpoint / path).write_bytes(raw[: len(raw) // 2])

    return damage


def only(path: str, content: bytes) -> Damage:
    def damage(checkpoint: Path) -> None:
        shutil.rmtree(checkpoint)
        write(path, content)(checkpoint)

    return damage


def nothing(_: Path) -> None:
    pass


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


def agrees(predicted: NextStart, happened: Happened) -> bool:
    """Return whether a start did what was said; the new file is row 5."""
    first = min(happened.batches, default=None)
    match predicted:
        case Resumes(batch_id=batch, then=None):
            return first == batch and happened.error is None
        case RunsAgain(batch_id=batch, then=None):
            again = happened.batches.get(batch) == [f"row {batch}"]
            return first == batch and again and happened.error is None
        case RunsAgain(batch_id=batch, then=error):
            again = happened.batches == {batch: [f"row {batch}"]}
            return again and error is not None and error in (happened.error or "")
        case StartsFresh():
            return first == 0 and happened.error is None
        case Refuses(error=error):
            return first is None and error in (happened.error or "")
        case _:
            return False


@pytest.mark.parametrize("damage", CASES.values(), ids=list(CASES))
def test_spark_does_what_we_say(
    spark: SparkSession, original: Path, *, damage: Damage, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "checkpoint"
    shutil.copytree(original / "checkpoint", checkpoint)
    damage(checkpoint)
    predicted = predict_next_start(read_checkpoint(open_reader(str(checkpoint))))
    happened = start(spark, original / "input", checkpoint)
    assert agrees(predicted, happened), f"{predicted}\n{happened.batches}\n{happened.error}"
