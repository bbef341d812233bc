"""The small engine of the histories writes what Spark writes; and a sample on real PostgreSQL."""

from __future__ import annotations

import json
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

from campaigns.histories.campaign import Campaign, scratch
from campaigns.histories.generate import generate
from campaigns.histories.postgres_tables import PostgresBackend
from campaigns.histories.process import one_process
from campaigns.histories.spark_logs import FileSourceQuery, SparkFailedError
from lab import Postgres

SEED, SAMPLE = 26, 20


def add(source: Path, *numbers: int) -> None:
    source.mkdir(exist_ok=True)
    for number in numbers:
        path = source / f"{number:04d}.json"
        path.write_text(f'{{"id":"a{number}"}}\n')
        os.utime(path, (1_790_000_000 + number,) * 2)


def on_spark(spark: SparkSession, home: Path, source: Path, *, fails_in: int | None = None) -> None:
    """Run what there is; fail within a batch, as a kill after `offsets/N` leaves it."""

    def write(batch: Any, number: int) -> None:
        batch.collect()
        if number == fails_in:
            raise ValueError

    frame = spark.readStream.schema("id string").option("maxFilesPerTrigger", 1).json(str(source))
    writer = frame.writeStream.foreachBatch(write).option("checkpointLocation", str(home))
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    except StreamingQueryException:
        assert fails_in is not None


def on_engine(home: Path, source: Path, *, fails_in: int | None = None) -> None:
    query = FileSourceQuery(home, source)
    while (batch := query.plan()) is not None:
        if batch.number == fails_in:
            return
        query.commit(batch)


def normal(home: Path) -> dict[str, str]:
    """Return the logs of a checkpoint, without the time at which a batch was planned."""
    found = {}
    for log in ("offsets", "commits", "sources/0"):
        for path in sorted((home / log).iterdir()):
            if path.name.startswith("."):
                found[f"{log}/{path.name}"] = "checksums"
                continue
            lines = path.read_text().split("\n")
            if log == "offsets":
                metadata = json.loads(lines[1])
                lines[1] = json.dumps({**metadata, "batchTimestampMs": 0}, sort_keys=True)
            found[f"{log}/{path.name}"] = "\n".join(lines)
    return found


def checksums_of(content: bytes) -> bytes:
    chunks = (content[at : at + 512] for at in range(0, len(content), 512))
    sums = (struct.pack(">I", zlib.crc32(each)) for each in chunks)
    return b"crc\0" + struct.pack(">I", 512) + b"".join(sums)


def test_the_engine_writes_the_logs_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    source = tmp_path / "in"
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    real, ours = tmp_path / "real", tmp_path / "ours"
    for files, fails_in in (((0, 1, 2), None), ((3, 4), 3), ((5,), None), (range(6, 12), None)):
        add(source, *files)
        on_spark(spark, real, source, fails_in=fails_in)
        on_engine(ours, source, fails_in=fails_in)
        assert normal(ours) == normal(real), (tuple(files), fails_in)
    for home in (real, ours):
        for path in (each for each in home.rglob("*") if each.is_file()):
            if not path.name.startswith("."):
                sidecar = path.parent / f".{path.name}.crc"
                assert sidecar.read_bytes() == checksums_of(path.read_bytes()), path


@pytest.mark.parametrize(
    "broken", ["commits ahead", "the entry before the newest is gone", "the source's log is gone"]
)
def test_the_engine_fails_where_spark_fails(
    broken: str, spark: SparkSession, tmp_path: Path
) -> None:
    source = tmp_path / "in"
    add(source, 0, 1, 2)
    real, ours = tmp_path / "real", tmp_path / "ours"
    pending = 2 if broken == "the source's log is gone" else None
    on_spark(spark, real, source, fails_in=pending)
    on_engine(ours, source, fails_in=pending)
    gone = {
        "commits ahead": "offsets/2",
        "the entry before the newest is gone": "offsets/1",
        "the source's log is gone": "sources/0/2",
    }[broken]
    for home in (real, ours):
        path = home / gone
        path.unlink()
        (path.parent / f".{path.name}.crc").unlink()
    with pytest.raises(SparkFailedError):
        on_engine(ours, source)
    with pytest.raises(AssertionError):
        on_spark(spark, real, source)


@pytest.fixture(scope="module")
def campaign(postgres: Postgres) -> Iterator[Campaign]:
    backend = PostgresBackend(postgres.create_database("histories"))
    with scratch() as home, one_process():
        yield Campaign(home=home, backend=backend)
    backend.close()


def test_random_histories_hold_on_postgres(campaign: Campaign) -> None:
    failed = []
    for index in range(SAMPLE):
        played = campaign.play(generate(SEED, index))
        if played.wrong:
            failed.append(f"{SEED}:{index} {played.wrong[0]}")
    assert not failed, "\n".join(failed)
