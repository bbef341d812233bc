"""Real errors of Spark, as a log has them, are recognised: every restart here fails for real."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.error_causes import Cause
from holdfast.evidence.overview import overview_of
from holdfast.evidence.spark_error import ErrorReport, read_spark_error
from holdfast.storage import open_reader
from holdfast.testing.rule_cases import findings_in
from tests.spark.damages import Damage, cut, empty, halve, remove, rewrite
from tests.spark.restarts import add_file, count_lines, read_files
from tests.spark.spark_version import of_version

pytestmark = pytest.mark.sampled(3)

NEWER = b'v9\n{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}\n{"logOffset":2}'
NO_METADATA = of_version({(3, 5): None, (4, 2): Cause.METADATA_GONE})


def start(stream: DataFrame, checkpoint: Path, *, mode: str = "update", sink: str = "") -> str:
    """Start a query and return the text of its failure, with the trace of the JVM."""

    def write_batch(batch: DataFrame, _: int) -> None:
        batch.collect()

    writer = stream.writeStream.outputMode(mode).option("checkpointLocation", str(checkpoint))
    writer = writer.format(sink) if sink else writer.foreachBatch(write_batch)
    try:
        writer.trigger(availableNow=True).start().awaitTermination()
    except Py4JJavaError as error:
        return str(error)
    except PySparkException as error:
        return f"{error}\nJVM stacktrace:\n{getattr(error, '_stackTrace', '')}"
    return ""


@pytest.fixture(scope="module")
def home(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A query that counts lines, with three batches, and a file that waits."""
    home = tmp_path_factory.mktemp("failing")
    (home / "input").mkdir()
    for number in range(3):
        add_file(home / "input", number, f"row {number}")
    assert start(count_lines(read_files(spark, home / "input")), home / "readings") == ""
    add_file(home / "input", 9, "row 9")
    return home


def renamed_rows(spark: SparkSession, files: Path) -> DataFrame:
    lines = read_files(spark, files).withColumn("more", F.length("value"))
    return lines.groupBy("value", "more").count()


def deduplicated(spark: SparkSession, files: Path) -> DataFrame:
    return read_files(spark, files).dropDuplicates(["value"])


def two_sources(spark: SparkSession, files: Path) -> DataFrame:
    lines = read_files(spark, files)
    return count_lines(lines.union(read_files(spark, files)))


def failing(spark: SparkSession, files: Path) -> DataFrame:
    failed = F.raise_error(F.lit("poison")).cast("string")
    return count_lines(read_files(spark, files).withColumn("value", failed))


Made = Callable[[SparkSession, Path], DataFrame]


def counts(spark: SparkSession, files: Path) -> DataFrame:
    return count_lines(read_files(spark, files))


def nothing(_: Path) -> None:
    """Leave the checkpoint as it is."""


FAILURES: dict[str, tuple[Damage, Made, Cause | None]] = {
    "an offset entry is gone": (remove("offsets/1"), counts, Cause.LOG_GAP),
    "an offset entry is empty": (rewrite("offsets/2", empty), counts, Cause.LOG_DAMAGED),
    "half of an offset entry": (rewrite("offsets/2", halve), counts, Cause.LOG_DAMAGED),
    "a checksum does not fit": (cut("offsets/2"), counts, Cause.LOG_DAMAGED),
    "a newer log": (rewrite("offsets/2", lambda _: NEWER), counts, Cause.NEWER_LOG),
    "a state file is gone": (remove("state/0/0/3.delta"), counts, Cause.STATE_FILE_MISSING),
    "offset entries were deleted": (remove("offsets/2"), counts, Cause.TWO_DRIVERS),
    "metadata is gone": (remove("metadata"), counts, NO_METADATA),
    "a key was added": (nothing, renamed_rows, Cause.STATE_SCHEMA),
    "another operator": (nothing, deduplicated, Cause.OPERATOR_CHANGED),
    "a source was added": (nothing, two_sources, Cause.SOURCES_CHANGED),
    "a row that fails": (nothing, failing, Cause.BATCH_FAILS),
}


def case_of(checkpoint: Path, report: ErrorReport) -> Case:
    evidence = collect(open_reader(str(checkpoint)))
    return Case(checkpoint=evidence.checkpoint, overview=overview_of(evidence), error=report)


@pytest.mark.parametrize("name", FAILURES)
def test_a_real_failure_is_recognised(
    spark: SparkSession, home: Path, tmp_path: Path, *, name: str
) -> None:
    damage, made, cause = FAILURES[name]
    if cause is None:
        pytest.skip("this Spark starts")
    checkpoint = tmp_path / "readings"
    shutil.copytree(home / "readings", checkpoint)
    damage(checkpoint)
    text = start(made(spark, home / "input"), checkpoint)
    report = read_spark_error(f"INFO before\n{text}\nINFO after")
    assert report.last is not None, text
    assert report.last.cause is cause, f"{report.errors}\n{text}"
    found = [each for each in findings_in(case_of(checkpoint, report)) if "last error" in each.what]
    assert len(found) == 1, [str(each) for each in found]
    assert "contradicts" not in found[0].what
    assert "another checkpoint than this one" not in found[0].what


def test_the_advice_of_a_sink_that_cannot_recover_is_refused(
    spark: SparkSession, home: Path, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "readings"
    shutil.copytree(home / "readings", checkpoint)
    text = start(counts(spark, home / "input"), checkpoint, mode="append", sink="memory")
    writer = counts(spark, home / "input").writeStream.outputMode("update")
    try:
        writer.format("memory").queryName("peek").option(
            "checkpointLocation", str(checkpoint)
        ).start().stop()
    except PySparkException as error:
        text = str(error)
    report = read_spark_error(text)
    assert report.last is not None
    assert report.last.cause is Cause.CANNOT_RECOVER, text
    (found,) = (
        each for each in findings_in(case_of(checkpoint, report)) if "last error" in each.what
    )
    assert "Do not delete offsets/" in found.how


def test_the_error_of_another_query_is_said_to_be_one(
    spark: SparkSession, home: Path, tmp_path: Path
) -> None:
    checkpoint = tmp_path / "readings"
    shutil.copytree(home / "readings", checkpoint)
    remove("offsets/1")(checkpoint)
    text = start(counts(spark, home / "input"), checkpoint)
    (checkpoint / "metadata").write_text('{"id":"11111111-1111-4111-8111-111111111111"}')
    names = [each.name for each in findings_in(case_of(checkpoint, read_spark_error(text)))]
    assert "error-of-another-checkpoint" in names
