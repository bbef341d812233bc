"""What surrounds a stream changes between a kill and the restart; its two sinks stay the same."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import holdfast as hf
from tests.spark.file_stream import Stream

pytestmark = pytest.mark.sampled(3)

LINES = ("1", "2", "7", "3000000000")


@dataclass(frozen=True)
class NeverWritten(hf.Postgres):
    """The second sink of a driver that is killed before it gets there."""

    def resolve_writer(self, df: DataFrame, *, stream: str) -> Any:
        """Return a writer that does not come to its first batch."""

        def write(*_: Any, **__: Any) -> Any:
            raise RuntimeError("killed between two sinks")

        found = super().resolve_writer(df, stream=stream)
        found.write = write  # type: ignore[method-assign]
        return found


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What is not part of the query."""

    zone: str = "UTC"
    is_ansi: bool = True
    looked_up: tuple[str, ...] = ("1", "2")


@dataclass(frozen=True)
class TwoTables:
    """A stream of one batch into the tables `first` and `second`."""

    stream: Stream
    build: Callable[[DataFrame], DataFrame]

    def run(self, around: Surroundings, *, is_killed: bool = False) -> None:
        spark = self.stream.spark.newSession()
        spark.conf.set("spark.sql.session.timeZone", around.zone)
        spark.conf.set("spark.sql.ansi.enabled", around.is_ansi)
        look_up(spark, self.stream, around.looked_up)
        source = dataclasses.replace(self.stream, spark=spark).source
        second = NeverWritten if is_killed else hf.Postgres
        sinks = [self._sink(hf.Postgres, "first"), self._sink(second, "second")]
        self.stream.run(df=self.build(source), into=sinks)

    def _sink(self, kind: type[hf.Postgres], table: str) -> hf.Postgres:
        return kind(lambda: self.stream.dsn, table=table)

    def rows(self, table: str) -> Counter[str]:
        with psycopg.connect(self.stream.dsn) as connection:
            found = connection.execute(f"SELECT value FROM {table}".encode())
            return Counter(row[0] for row in found)


def look_up(spark: SparkSession, stream: Stream, values: tuple[str, ...]) -> None:
    """Overwrite a table of values, and give the session a view of it."""
    where = str(stream.root.parent / "lookup")
    rows = spark.createDataFrame([(value,) for value in values], "value string")
    rows.write.format("delta").mode("overwrite").save(where)
    spark.read.format("delta").load(where).createOrReplaceTempView("lookup")


@pytest.fixture
def one_batch(stream: Stream) -> Stream:
    for path in stream.files.iterdir():
        path.unlink()
    (stream.files / "f000").write_text("".join(f"{line}\n" for line in LINES))
    for table in ("first", "second"):
        stream.execute(f"CREATE TABLE {table} (value text)")
    return stream


def below_looked_up(source: DataFrame) -> DataFrame:
    most = source.sparkSession.table("lookup").select(F.max("value")).scalar()
    return source.where(F.col("value") <= most)


def when(text: str) -> Callable[[DataFrame], DataFrame]:
    return lambda source: source.where(text)


def value(text: str) -> Callable[[DataFrame], DataFrame]:
    return lambda source: source.selectExpr(f"{text} AS value")


LOOKED_UP = Surroundings(looked_up=("1", "2")), Surroundings(looked_up=("7",))
ZONE = Surroundings(zone="UTC"), Surroundings(zone="Asia/Tokyo")
ANSI_ON = Surroundings(is_ansi=False), Surroundings(is_ansi=True)
ANSI_OFF = Surroundings(is_ansi=True), Surroundings(is_ansi=False)
SECONDS = "timestamp_seconds(CAST(value AS long))"
SMALL = "concat('0.000000', value)"
CASES = {
    "in": (LOOKED_UP, when("value IN (SELECT value FROM lookup)")),
    "subquery": (LOOKED_UP, value("concat(value, (SELECT max(value) FROM lookup))")),
    "scalar": (LOOKED_UP, below_looked_up),
    "from_unixtime": (ZONE, value("from_unixtime(CAST(value AS long))")),
    "as text": (ZONE, value(f"CAST({SECONDS} AS string)")),
    "literal": (ZONE, when(f"{SECONDS} < TIMESTAMP '1970-01-01 00:00:05'")),
    "ansi on": (ANSI_ON, when("value <> 1")),
    "ansi off": (ANSI_OFF, when("value <> 1")),
    "decimal": (ANSI_ON, value(f"CAST(CAST({SMALL} AS decimal(20, 10)) AS string)")),
}


@pytest.mark.parametrize("case", CASES)
def test_a_batch_that_would_come_out_differently_is_materialised(
    one_batch: Stream, case: str
) -> None:
    (before, after), build = CASES[case]
    tables = TwoTables(one_batch, build)
    with pytest.raises(StreamingQueryException):
        tables.run(before, is_killed=True)
    written = tables.rows("first")
    assert written
    assert not tables.rows("second")
    tables.run(after)
    assert tables.rows("second") == written
    assert tables.rows("first") == written


@pytest.mark.parametrize(("before", "after"), [ZONE, ANSI_ON, ANSI_OFF], ids=["zone", "on", "off"])
def test_a_batch_that_is_proven_to_repeat_is_computed_again(
    one_batch: Stream, before: Surroundings, after: Surroundings
) -> None:
    tables = TwoTables(one_batch, value("concat('n', CAST(CAST(value AS long) % 4 AS string))"))
    with pytest.raises(StreamingQueryException):
        tables.run(before, is_killed=True)
    tables.run(after)
    expected = Counter(f"n{int(line) % 4}" for line in LINES)
    assert tables.rows("first") == expected
    assert tables.rows("second") == expected
    assert not (one_batch.root / "_holdfast/readings/batches").exists()


def test_a_materialised_batch_is_used_by_an_edited_query_too(one_batch: Stream) -> None:
    around = Surroundings()
    with pytest.raises(StreamingQueryException):
        TwoTables(one_batch, value("uuid()")).run(around, is_killed=True)
    edited = TwoTables(one_batch, when("value > ''"))
    written = edited.rows("first")
    edited.run(around)
    assert edited.rows("second") == written == edited.rows("first")
    assert sum(written.values()) == len(LINES)
    (one_batch.files / "f001").write_text("8\n")
    edited.run(around)
    assert edited.rows("second") == written + Counter(["8"])
    kept = [path for path in one_batch.root.rglob("_holdfast/readings/batches/*") if path.is_file()]
    assert not kept, "the rows are deleted once both sinks have them"


def test_a_batch_that_was_materialised_with_other_columns_is_refused(one_batch: Stream) -> None:
    """A column that the kept rows lack would be read as NULL, for every row."""
    around = Surroundings()
    before = TwoTables(one_batch, value("upper(value)"))
    with pytest.raises(StreamingQueryException, match="killed between"):
        before.run(around, is_killed=True)
    for table in ("first", "second"):
        one_batch.execute(f"ALTER TABLE {table} ADD COLUMN other text")
    after = TwoTables(one_batch, lambda source: source.selectExpr("upper(value) AS other"))
    with pytest.raises(StreamingQueryException, match="materialised it with the columns value"):
        after.run(around)
    before.run(around)
    assert before.rows("first") == before.rows("second") == Counter(LINES)
