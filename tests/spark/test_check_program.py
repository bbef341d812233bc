"""`holdfast check FILE.py` on a real program: what it says, and that nothing is written."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import holdfast as hf
from holdfast.cli.exit_codes import ExitCode
from holdfast.rules.compatibility import Compatibility, StreamCheck
from lab.spark import environment
from tests import calling
from tests.spark import plain_job

JOB = str(Path(plain_job.__file__))


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program has run once, with an event log."""
    place = tmp_path_factory.mktemp("plain") / "place"
    plain_job.prepare(place)
    (place / "events").mkdir()
    settings = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": f"file://{place}/events",
    }
    variables = environment(place.parent / "spark", settings, log_level="off")
    command = [sys.executable, JOB, str(place), "--table"]
    subprocess.run(command, env={**os.environ, **variables}, check=True)
    return place


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Give child processes Spark, and a working directory that stays empty."""
    variables = environment(tmp_path / "spark", {}, log_level="off")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    yield
    assert list(here.iterdir()) == []


def tree(place: Path) -> dict[str, bytes | None]:
    """Return every file below a directory, and every directory."""
    return {str(each): each.read_bytes() if each.is_file() else None for each in place.rglob("*")}


def call(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, Any]]:
    code, out, _ = calling.call(capsys, "check", "--format", "json", *words)
    return code, json.loads(out)


def codes(stream: dict[str, Any]) -> list[str]:
    return [each["code"] for each in stream["findings"]]


@pytest.mark.usefixtures("elsewhere")
def test_a_compatible_edit_is_compatible_by_the_event_log_and_nothing_is_written(
    ran: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tree(ran)
    words = ["--event-log", str(ran / "events"), JOB, "--", str(ran), "--least", "1"]
    code, found = call(capsys, *words)
    assert tree(ran) == before
    assert [each["unknown"] for each in found["streams"]] == [[], []]
    assert {each["stream"]: each["verdict"] for each in found["streams"]} == {
        "totals": "compatible",
        "copy": "compatible",
    }
    assert (code, found["verdict"], found["unknown"]) == (ExitCode.DONE, "compatible", [])
    query = found["streams"][1]["query"]
    assert query["sink"] == f"FileSink[{ran}/out]"
    assert query["checkpoint"] == str(ran / "checkpoints" / "copy")
    assert query["sources"] == [f"FileSource[{ran}/first]", f"FileSource[{ran}/second]"]
    assert query["where"].startswith(f"{JOB}:")


@pytest.mark.usefixtures("elsewhere")
def test_other_keys_another_order_of_sources_and_another_sink(
    ran: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = tree(ran)
    edits = ["--keys", "a", "--sources", "second,first", "--out", "elsewhere"]
    code, found = call(capsys, JOB, "--event-log", str(ran / "events"), "--", str(ran), *edits)
    assert tree(ran) == before
    assert {each["stream"]: codes(each) for each in found["streams"]} == {
        "totals": ["HF511"],
        "copy": ["HF403", "HF408"],
    }
    assert (code, found["verdict"]) == (ExitCode.FOUND, "incompatible")
    assert any(
        each.startswith("event log, ")
        for finding in found["streams"][1]["findings"]
        for each in finding["follows_from"]
    )


def checked(spark: SparkSession, ran: Path, **edits: str) -> StreamCheck:
    chain = plain_job.totals if "keys" in edits else plain_job.copy
    return hf.check(chain(spark, ran, **edits))


def test_what_is_called_incompatible_is_refused_by_spark(
    spark: SparkSession, ran: Path, tmp_path: Path
) -> None:
    found = checked(spark, ran, keys="a")
    assert found.verdict is Compatibility.INCOMPATIBLE
    other = tmp_path / "checkpoint"
    shutil.copytree(ran / "checkpoints" / "totals", other)
    (ran / "first" / "more.json").write_text(plain_job.ROW % 7)
    chain = plain_job.totals(spark, ran, "a").option("checkpointLocation", str(other))
    with pytest.raises(StreamingQueryException, match="STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE"):
        chain.trigger(availableNow=True).start().awaitTermination()
    (ran / "first" / "more.json").unlink()


def test_without_an_event_log_the_checkpoint_tells_of_sources_and_the_rest_is_unknown(
    spark: SparkSession, ran: Path
) -> None:
    before = tree(ran)
    same = checked(spark, ran)
    assert (same.verdict, same.findings, same.newest_batch) == (Compatibility.UNKNOWN, (), 0)
    (unknown,) = same.unknown
    assert "does not tell the sink" in unknown
    swapped = checked(spark, ran, sources="second,first")
    assert [each.code for each in swapped.findings] == ["HF403"]
    replaced = checked(spark, ran, sources="first,events")
    assert [each.code for each in replaced.findings] == ["HF402"]
    assert tree(ran) == before


WRITES = """\
import sys
from pyspark.sql import SparkSession
import holdfast as hf

spark = SparkSession.builder.master("yarn").config("spark.eventLog.enabled", "true").getOrCreate()
place, table = sys.argv[1], f"delta.`{sys.argv[2]}`"
assert spark.sql(f"SELECT count(*) FROM {table}").collect() == [(3,)]
rows = spark.range(3)
rows.createOrReplaceTempView("rows")
assert spark.sql("SELECT count(*) FROM rows").collect() == [(3,)]
ways = (
    lambda: rows.write.parquet(f"{place}/one"),
    lambda: rows.write.jdbc("jdbc:postgresql://127.0.0.1:1/none", "two"),
    lambda: rows.write.saveAsTable("three"),
    lambda: spark.sql("CREATE TABLE four USING parquet AS SELECT 1 AS one"),
    lambda: rows.rdd.map(str).saveAsTextFile(f"{place}/five"),
    lambda: rows.foreach(print),
    lambda: spark.sql(f"DELETE FROM {table}"),
    lambda: spark.sql(f"UPDATE {table} SET id = 7"),
    lambda: spark.sql(f"MERGE INTO {table} t USING rows r ON t.id = r.id WHEN MATCHED THEN DELETE"),
    lambda: spark.sql(f"OPTIMIZE {table}"),
    lambda: spark.sql(f"VACUUM {table}"),
    lambda: spark.sql(f"WITH r AS (SELECT * FROM rows) INSERT INTO {table} SELECT * FROM r"),
    lambda: spark.newSession().sql("CREATE DATABASE seven"),
)
for way in ways:
    try:
        way()
    except Exception:
        continue
    raise SystemExit("it was written")
source = spark.readStream.format("rate").load()
hf.record_queries(spark, root=f"{place}/root")
hf.start(source, stream="readings", into=hf.ForeachBatch(print), root=f"{place}/root")
plain = source.writeStream.format("parquet").option("checkpointLocation", f"{place}/checkpoint")
plain.toTable("six").awaitTermination()
spark.streams.awaitAnyTermination()
"""


@pytest.mark.usefixtures("elsewhere")
def test_what_a_program_would_write_is_refused_and_named(
    ran: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place, program = tmp_path / "place", tmp_path / "program.py"
    place.mkdir()
    program.write_text(WRITES)
    before = tree(ran)
    code, found = call(capsys, str(program), "--", str(place), str(ran / "table"))
    assert tree(place) == {}
    assert tree(ran) == before
    assert not list(program.parent.glob("__pycache__"))
    assert {each["stream"]: each["verdict"] for each in found["streams"]} == {
        "readings": "compatible",
        f"{place}/checkpoint": "compatible",
    }
    lines = WRITES.splitlines()
    first = 1 + next(number for number, line in enumerate(lines) if "write.parquet" in line)
    told = found["unknown"]
    for number, said in enumerate(told[:5]):
        assert f"{program}:{first + number} (" in said
    assert len(told) == 6
    assert "8 more writes" in told[5]
    assert (code, found["verdict"]) == (ExitCode.NOT_JUDGED, "unknown")


@pytest.mark.usefixtures("elsewhere")
@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("print('nothing')", "It ended without starting a streaming query."),
        ("import sys\nsys.exit(3)", "it ended with exit code 3"),
        ("print(1)\nraise RuntimeError('no luck')", ":2: RuntimeError: no luck."),
        ("import os\nos._exit(9)", "ended with exit code 9"),
        ("import threading\nthreading.Event().wait()", "It did not end within 2 s."),
    ],
    ids=["never starts", "exits", "raises", "dies", "hangs"],
)
def test_a_program_that_comes_to_no_query(
    *, text: str, why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "program.py"
    program.write_text(text)
    limit = ("--timeout", "2") if "wait" in text else ()
    code, found = call(capsys, str(program), *limit)
    assert (code, found["code"]) == (ExitCode.NOT_JUDGED, "NOT_CHECKED")
    assert why in found["why"]
