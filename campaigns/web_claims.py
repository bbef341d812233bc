"""What the web says of checkpoints, held against real Spark: four claims that need no server.

    python -m campaigns.web_claims

The page `docs/explanation/what-the-web-says.md` quotes what this prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import DataFrame, SparkSession

from lab.scratch import scratch_directory
from lab.spark import start_session

Claim = Callable[[SparkSession, Path], Iterator[str]]


def memory_sink(spark: SparkSession, home: Path) -> Iterator[str]:
    """Start the example of the web, a memory sink with a checkpoint, and what comes next."""
    lines = _lines(spark, home)
    counted = lines.groupBy("value").count()

    def start(rows: DataFrame, mode: str, **options: str) -> str:
        writer = rows.writeStream.format("memory").outputMode(mode).options(**options)
        writer = writer.option("checkpointLocation", str(home / mode))
        try:
            _run(writer.trigger(availableNow=True))
        except AnalysisException as error:
            return str(error).splitlines()[0]
        return "runs"

    yield f"memory sink without a name: {start(lines, 'append')}"
    for mode, rows in (("append", lines), ("complete", counted)):
        yield f"memory sink, {mode}, first start: {start(rows, mode, queryName=mode)}"
        again = start(rows, mode, queryName=mode).replace(str(home), "…")
        yield f"memory sink, {mode}, second start: {again}"


def no_location(spark: SparkSession, home: Path) -> Iterator[str]:
    """Start a query without a checkpoint location, and look for the one that Spark takes."""
    java: Any = spark.sparkContext._jvm  # noqa: SLF001 - where Spark makes its temporary files
    temporary = Path(java.System.getProperty("java.io.tmpdir"))
    before, taken = set(temporary.glob("temporary-*")), set[Path]()

    def look(_batch: DataFrame, _number: int) -> None:
        taken.update(set(temporary.glob("temporary-*")) - before)

    _run(_lines(spark, home).writeStream.foreachBatch(look).trigger(availableNow=True))
    (place,) = taken
    left = "still there" if place.exists() else "deleted"
    yield f"no checkpointLocation: runs, in <java.io.tmpdir>/temporary-<id>; afterwards {left}"


def failing_batch(spark: SparkSession, home: Path) -> Iterator[str]:
    """Start a query whose function fails in a batch, three times."""
    seen: list[int] = []

    def fail(_batch: DataFrame, number: int) -> None:
        seen.append(number)
        if number == 1:
            raise ValueError("business logic")

    lines = _lines(spark, home, files=3)
    for _ in range(3):
        writer = lines.writeStream.foreachBatch(fail).trigger(availableNow=True)
        try:
            _run(writer.option("checkpointLocation", str(home / "failing")))
        except PySparkException:
            continue
    yield f"a function that fails in batch 1, started three times: batches {seen}"


def moved_checkpoint(spark: SparkSession, home: Path) -> Iterator[str]:
    """Stop a query, move its checkpoint, and start it there."""
    seen: list[int] = []

    def note(_batch: DataFrame, number: int) -> None:
        seen.append(number)

    for name in ("here", "there"):
        lines = _lines(spark, home, files=1 if name == "here" else 2)
        writer = lines.writeStream.foreachBatch(note).trigger(availableNow=True)
        _run(writer.option("checkpointLocation", str(home / name)))
        if name == "here":
            (home / "here").rename(home / "there")
    yield f"a checkpoint that was moved between two starts: batches {seen}, no error"


CLAIMS: tuple[Claim, ...] = (memory_sink, no_location, failing_batch, moved_checkpoint)


def play(spark: SparkSession, home: Path) -> Iterator[str]:
    """Play every claim; yield what happened, in a line each."""
    for claim in CLAIMS:
        place = home / claim.__name__
        place.mkdir()
        yield from claim(spark, place)


def _lines(spark: SparkSession, home: Path, *, files: int = 1) -> DataFrame:
    """Return a stream of one file per batch."""
    (home / "in").mkdir(exist_ok=True)
    for number in range(files):
        path = home / "in" / f"{number}.txt"
        if not path.exists():
            path.write_text(f"line {number}\n")
    return spark.readStream.option("maxFilesPerTrigger", 1).text(str(home / "in"))


def _run(writer: Any) -> None:
    query = writer.start()
    try:
        query.awaitTermination()
    finally:
        query.stop()


def main() -> None:
    """Print what happened."""
    with scratch_directory() as home:
        for line in play(start_session(home / "spark", {}), home):
            print(line)


if __name__ == "__main__":
    main()
