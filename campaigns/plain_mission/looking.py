"""What there is: every row of every table, and every file of every checkpoint."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from campaigns.plain_mission.program import STREAMS, TABLES
from examples.sensors.answers import Row
from examples.sensors.judge import frame_rows, rows_found
from examples.sensors.parsing import parse, rejected, usage
from examples.sensors.settings import Sensors
from holdfast.proof.multiset import Difference, compare
from holdfast.storage.in_order import walk_in_order
from holdfast.storage.open import open_reader

_VERSION = re.compile(rb'"(reservoirVersion|index|isStartingVersion)":(-?\d+|true|false)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Everything:
    """All that a plan could change."""

    rows: dict[str, Counter[Row]]
    files: dict[str, bytes]
    """Of the checkpoints, by path."""

    def unlike(self, other: Everything) -> list[str]:
        """Return the tables that have other rows, and the files that are other ones."""
        tables = [each for each, rows in self.rows.items() if other.rows[each] != rows]
        paths = sorted({*self.files, *other.files})
        return tables + [each for each in paths if self.files.get(each) != other.files.get(each)]

    def moved(self) -> set[str]:
        """Return what an undo may change: the two newest offsets of streams that read a table.

        They name a later version of the table, and have no checksum files any more.
        """
        found = set[str]()
        for stream in STREAMS[1:]:
            below = f"{stream}/offsets/"
            names = [each.removeprefix(below) for each in self.files if each.startswith(below)]
            newest = sorted(int(each) for each in names if each.isdecimal())[-2:]
            for number in newest:
                found |= {f"{below}{number}", f"{below}.{number}.crc"}
        return found

    def unlike_undone(self, other: Everything) -> list[str]:
        """Return what is unlike after an undo, apart from the version in the newest offsets."""
        moved = self.moved()
        wrong = [each for each in self.unlike(other) if each not in moved]
        for path in (each for each in moved if not each.endswith(".crc")):
            one, two = (_VERSION.sub(b"", each[path]) for each in (self.files, other.files))
            wrong += [] if one == two else [path]
        return wrong


def look(spark: SparkSession, sensors: Sensors) -> Everything:
    """Return everything, as it is now."""
    return Everything(rows=rows_of(spark, sensors), files=dict(_files(sensors)))


def rows_of(spark: SparkSession, sensors: Sensors) -> dict[str, Counter[Row]]:
    """Return the rows of every table."""
    found = rows_found(spark, sensors, tables=TABLES)
    return {table: Counter(rows) for table, rows in found.items()}


def _files(sensors: Sensors) -> Iterator[tuple[str, bytes]]:
    for stream in STREAMS:
        reader = open_reader(f"{sensors.checkpoints}/{stream}")
        for info in walk_in_order(reader):
            content = reader.read(info.path)
            assert content is not None, info.path
            yield f"{stream}/{info.path}", content


def compare_with_raw(spark: SparkSession, sensors: Sensors) -> dict[str, Difference]:
    """Return how the tables below raw differ from what raw must become, computed in one batch."""
    raw = parse(spark.read.format("delta").load(sensors.table("raw")))
    columns = ("reading_id", "sensor_id", "event_time", "value", "product")
    typed = raw.where("reason is null").select(*columns).dropDuplicates(["reading_id"])
    newest = Window.partitionBy("sensor_id").orderBy(
        F.col("event_time").desc(), F.col("reading_id").desc()
    )
    gold = typed.withColumn("rank", F.row_number().over(newest)).where("rank = 1")
    latest = gold.select(*columns[:4])
    counted = usage(typed)
    wanted: dict[str, DataFrame] = {
        "typed": typed,
        "quarantine": rejected(raw),
        "gold": latest,
        "postgres": latest,
        "postgres usage": counted,
    }
    found = rows_found(spark, sensors, tables=tuple(wanted))
    return {each: compare(frame_rows(wanted[each]), rows) for each, rows in found.items()}
