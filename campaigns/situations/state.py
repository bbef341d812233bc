"""What happens to watermarks and state, and what a restart then does."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from pyspark.sql import DataFrame
from pyspark.sql import functions as f

from campaigns.situations.appended import AppendedStream
from campaigns.situations.situation import Bench, Shown, Situation

_PROVIDERS = "org.apache.spark.sql.execution.streaming.state"


def _deduplicated(read: DataFrame) -> DataFrame:
    """Return rows `event time,name` without duplicates, with a watermark."""
    part = f.split("value", ",")
    rows = read.select(part[0].cast("timestamp").alias("at"), part[1].alias("name"))
    return rows.withWatermark("at", "10 minutes").dropDuplicates(["name", "at"]).select("name")


def _counted(read: DataFrame) -> DataFrame:
    return read.groupBy("value").count()


def _poisoned_watermark(bench: Bench) -> Shown:
    """One sensor sends a record of the year 2096; afterwards correct records arrive."""
    stream = AppendedStream(bench, query=_deduplicated)
    began = datetime.now(tz=UTC) - timedelta(minutes=5)

    def line(number: int) -> str:
        return f"{(began + timedelta(seconds=number)).isoformat()},n{number}"

    stream.add(line(0))
    stream.add(line(1))
    stream.run()
    healthy = stream.judge()
    stream.add("2096-01-01T00:00:00+00:00,poison")
    stream.run()
    stream.add(line(2), line(3))
    return stream.restart(healthy, [("n0",), ("n1",), ("poison",), ("n2",), ("n3",)])


def _provider_edited(bench: Bench) -> Shown:
    """Somebody edits the pinned provider, because the setting had no effect."""
    stream = AppendedStream(bench, query=_counted, mode="update")
    for number in range(3):
        stream.add(f"row {number}")
    stream.run()
    healthy = stream.judge()
    path = stream.checkpoint / "offsets/2"
    path.write_text(path.read_text().replace("HDFSBackedStateStore", "RocksDBStateStore"))
    path.with_name(".2.crc").unlink()
    stream.add("row 3")
    return stream.restart(healthy, [(f"row {number}", 1) for number in range(4)])


def _skipped_with_format_2(bench: Bench) -> Shown:
    """The driver is killed after the file sink has the batch, with state format 2."""
    spark = bench.spark.newSession()
    state = "spark.sql.streaming.stateStore"
    spark.conf.set(f"{state}.providerClass", f"{_PROVIDERS}.RocksDBStateStoreProvider")
    spark.conf.set(f"{state}.checkpointFormatVersion", "2")
    stream = AppendedStream(
        replace(bench, spark=spark), query=_deduplicated, into=bench.place / "output"
    )
    now = datetime.now(tz=UTC) - timedelta(minutes=5)
    stream.add(f"{now.isoformat()},n0")
    stream.add(f"{now.isoformat()},n1")
    stream.run()
    healthy = stream.judge()
    newest = max(int(path.name) for path in (stream.checkpoint / "commits").glob("[0-9]*"))
    for name in (str(newest), f".{newest}.crc"):
        (stream.checkpoint / "commits" / name).unlink()
    return stream.restart(healthy, [("n0",), ("n1",)])


SITUATIONS = (
    Situation(
        name="poisoned-watermark",
        code="HF420",
        make=_poisoned_watermark,
        trap="One event time far in the future drops every later row, also after a restart.",
    ),
    Situation(name="state-provider-edited", code="HF426", make=_provider_edited),
    Situation(name="batch-skipped-with-format-2", code="HF430", make=_skipped_with_format_2),
)
