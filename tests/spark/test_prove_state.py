"""Streams with state, by source and sink: late rows are known, and what is not known is said."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from holdfast.proof.values import ProofVerdict, TableProof
from lab import Kafka, Postgres
from tests.spark.file_stream import wait_until_given_up

pytestmark = pytest.mark.sampled(1)
"""`HOLDFAST_ALL=1` runs all of them."""

DSN = "PROVE_STATE_DSN"
SCHEMA = "id long, amount double, at timestamp"
FIRST = datetime(2026, 1, 1, tzinfo=UTC)
MINUTES = ([0, 3, 7, 12], [20, 25, 1, 31], [33, 40, 5, 22, 8], [50, 41, 2, 52])
"""Of the rows of each batch: those of the first windows come again, too late."""
RETAIN = "spark.sql.streaming.minBatchesToRetain"

Build = Callable[[Any], Any]


def rows_of(batch: int) -> list[tuple[int, float, datetime]]:
    return [
        (at % 7, at / 3, FIRST + timedelta(minutes=at, microseconds=at)) for at in MINUTES[batch]
    ]


def windows(rows: Any) -> Any:
    by = rows.withWatermark("at", "5 minutes").groupBy(F.window("at", "10 minutes"))
    counted = by.agg(F.count("*").alias("rows"), F.max("amount").alias("most"))
    return counted.select(F.col("window.start").alias("start"), "rows", "most")


def once(rows: Any) -> Any:
    return rows.withWatermark("at", "5 minutes").dropDuplicates(["id", "at"])


def start(spark: SparkSession, pipeline: Any) -> None:
    (query,) = pipeline.start(spark, trigger={"availableNow": True}).values()
    query.awaitTermination()
    wait_until_given_up()


def prove(spark: SparkSession, pipeline: Any) -> TableProof:
    (found,) = pipeline.prove(spark).tables
    return found  # type: ignore[no-any-return]


def made(home: Path, build: Build, into: Any, *, mode: str = "update") -> Any:
    pipeline = hf.Pipeline("state", root=str(home / "streams"))
    pipeline.stream("counted", into=into, outputMode=mode)(build)
    return pipeline


def write_file(home: Path, batch: int) -> None:
    place = home / f"in/{batch}.json"
    place.parent.mkdir(exist_ok=True)
    lines = (
        json.dumps({"id": of, "amount": amount, "at": at.isoformat()})
        for of, amount, at in rows_of(batch)
    )
    place.write_text("\n".join(lines) + "\n")
    os.utime(place, (1_700_000_000 + batch,) * 2)


def read_files(home: Path) -> Build:
    def read(session: Any) -> Any:
        reader = session.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
        return reader.json(str(home / "in"))

    return read


def assert_exact(found: TableProof) -> None:
    assert found.verdict is ProofVerdict.EXACT, (found.reason, found.compared)
    assert any("rows that came after their watermark" in each for each in found.left_out)


def test_a_delta_source_and_versions_that_each_batch_read(
    spark: SparkSession, tmp_path: Path
) -> None:
    source = str(tmp_path / "source")

    def read(session: Any) -> Any:
        return windows(session.readStream.format("delta").load(source))

    pipeline = made(tmp_path, read, hf.Delta(path=str(tmp_path / "table"), keys=["start"]))
    for batch in range(len(MINUTES)):
        rows = spark.createDataFrame(rows_of(batch), SCHEMA).coalesce(1)
        rows.write.format("delta").mode("append").save(source)
        start(spark, pipeline)
    assert_exact(prove(spark, pipeline))
    name = f"delta.`{tmp_path / 'table'}`"
    spark.sql(f"UPDATE {name} SET rows = rows + 1 WHERE start = '2026-01-01 00:00:00'")
    assert prove(spark, pipeline).verdict is ProofVerdict.NOT_EXACT


def test_a_kafka_source_and_a_postgres_table(
    *,
    spark: SparkSession,
    kafka: Kafka,
    postgres: Postgres,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    topic = f"state_{uuid.uuid4().hex[:8]}"
    kafka.create_topic(topic, partitions=2)
    dsn = postgres.create_database(topic)
    monkeypatch.setenv(DSN, dsn)
    with psycopg.connect(dsn) as connection:
        columns = "start timestamptz PRIMARY KEY, rows bigint, most float8"
        connection.execute(f"CREATE TABLE counted ({columns})".encode())

    def read(session: Any) -> Any:
        options = {
            "kafka.bootstrap.servers": kafka.address,
            "subscribe": topic,
            "startingOffsets": "earliest",
        }
        text = session.readStream.format("kafka").options(**options).load()
        value = F.from_json(text.value.cast("string"), SCHEMA).alias("value")
        return windows(text.select(value).select("value.*"))

    pipeline = made(tmp_path, read, hf.Postgres(f"env:{DSN}", table="counted", keys=["start"]))
    for batch in range(len(MINUTES)):
        messages = (
            json.dumps({"id": of, "amount": amount, "at": at.isoformat()}).encode()
            for of, amount, at in rows_of(batch)
        )
        kafka.produce(topic, [(at % 2, b"", text, 0) for at, text in enumerate(messages)])
        start(spark, pipeline)
    assert_exact(prove(spark, pipeline))
    with psycopg.connect(dsn) as connection:
        connection.execute(b"UPDATE counted SET rows = rows + 1 WHERE start = '2026-01-01 00:00Z'")
    assert prove(spark, pipeline).verdict is ProofVerdict.NOT_EXACT


def test_watermarks_that_the_log_no_longer_has(spark: SparkSession, tmp_path: Path) -> None:
    table = tmp_path / "table"
    read = read_files(tmp_path)
    pipeline = made(
        tmp_path, lambda session: windows(read(session)), hf.Delta(path=str(table), keys=["start"])
    )
    spark.conf.set(RETAIN, "1")
    try:
        for batch in range(len(MINUTES)):
            write_file(tmp_path, batch)
            start(spark, pipeline)
    finally:
        spark.conf.unset(RETAIN)
    oldest = min(int(each.name) for each in (tmp_path / "streams/counted/offsets").glob("[0-9]*"))
    assert oldest > 0
    found = prove(spark, pipeline)
    assert found.verdict is ProofVerdict.NOT_COMPARED
    assert found.reason.startswith("the rest is exact; results up to 2026-01-01 00:"), found.reason
    assert found.compared is not None
    assert found.compared.expected > 0
    name = f"delta.`{table}`"
    spark.sql(f"UPDATE {name} SET rows = rows + 1 WHERE start = '2026-01-01 00:50:00'")
    assert prove(spark, pipeline).verdict is ProofVerdict.NOT_EXACT


@pytest.mark.parametrize(
    ("change", "mode", "told"),
    [
        (lambda rows: rows.groupBy("id").agg(F.first("amount").alias("rows")), "update", "first"),
        (lambda rows: rows.groupBy("id").count().where("count > 1"), "update", "a filter on"),
        (lambda rows: once(rows).select("amount"), "append", "is not in the table"),
        (
            lambda rows: (
                rows.withWatermark("at", "5 minutes")
                .groupBy(F.session_window("at", "5 minutes"), "id")
                .count()
                .select("id", "count")
            ),
            "append",
            "session windows",
        ),
    ],
    ids=["first", "having", "no key", "sessions"],
)
def test_what_rows_do_not_decide_is_not_compared(
    spark: SparkSession,
    tmp_path: Path,
    *,
    change: Build,
    mode: str,
    told: str,
) -> None:
    read = read_files(tmp_path)
    keys = ["id"] if mode == "update" else []
    into = hf.Delta(path=str(tmp_path / "table"), keys=keys)
    pipeline = made(tmp_path, lambda session: change(read(session)), into, mode=mode)
    write_file(tmp_path, 0)
    start(spark, pipeline)
    found = prove(spark, pipeline)
    assert found.verdict is ProofVerdict.NOT_COMPARED
    assert told in found.reason, found.reason
