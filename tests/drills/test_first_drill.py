"""Where the tutorial of drills leads to: a fixture, a whole pipeline, a stream from where it is.

The tutorial itself is followed word by word from the wheel, by `tests/wheel`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from holdfast.cli.exit_codes import ExitCode
from holdfast.drills.summary import SummaryJson
from lab.spark import environment
from tests.house.repository import ROOT

PAGE = (ROOT / "docs/tutorials/first-drill.md").read_text()
SAMPLE, APP, TEST = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
pytestmark = pytest.mark.sampled(1)
PIPELINE = """
import holdfast as hf

chain = hf.Pipeline("chain")


@chain.stream("first", into=hf.Delta(path="/nowhere/first"))
def first(spark):
    return spark.readStream.format("kafka").option("subscribe", "ids").load()


newest = hf.Postgres("env:NOWHERE", table="newest", keys=["key"], sequence_by="id")


@chain.stream("second", into=newest)
def second(spark):
    rows = spark.readStream.format("delta").load("/nowhere/first")
    return rows.selectExpr("id % 7 AS key", "id")
"""


RESUMED = """
def read_on(spark, scratch):
    rows = spark.readStream.schema("id BIGINT").option("maxFilesPerTrigger", 1).csv("source")
    writer = rows.writeStream.format("delta").option("checkpointLocation", scratch.checkpoint)
    return writer.start(scratch.sink)


if __name__ == "__main__":
    from pathlib import Path
    from pyspark.sql import SparkSession
    from holdfast.drills.scratch import Scratch

    scratch = Scratch(home=Path("production"), sample=None)
    query = read_on(SparkSession.builder.getOrCreate(), scratch)
    query.processAllAvailable()
    query.stop()  # the JVM lives a moment longer than Python
"""


COUNTING = """
from pathlib import Path

from pyspark.sql import functions as F


def counting(spark, scratch, shift=0):
    counted = scratch.source(spark).groupBy((F.col("id") % 7 + shift).alias("key")).count()

    def show_that_it_lives(batch, number):
        batch.collect()
        batch.sparkSession.range(1).write.mode("overwrite").parquet(scratch.sink)

    writer = counted.writeStream.outputMode("update").foreachBatch(show_that_it_lives)
    return writer.option("checkpointLocation", scratch.checkpoint).start()


def diverging(spark, scratch):
    \"\"\"Counts other keys when it is started again, which its table does not show.\"\"\"
    seen = Path(scratch.home, "seen")
    was_there = seen.exists()
    seen.touch()
    return counting(spark, scratch, 100 if was_there else 0)
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory with the sample and the programs, in which commands find Spark."""
    monkeypatch.chdir(tmp_path)
    for name, value in environment(tmp_path / "spark", {}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "src"), str(tmp_path)]))
    exec(compile(SAMPLE, "sample", "exec"), {})
    (tmp_path / "app.py").write_text(APP)
    (tmp_path / "chain.py").write_text(PIPELINE)
    (tmp_path / "test_app.py").write_text(TEST)
    return tmp_path


def run(command: str) -> tuple[int, str]:
    """Run a command of the page; return its exit code and what it prints on stdout."""
    words = [sys.executable, "-m", *command.split()]
    ended = subprocess.run(words, check=False, stdout=subprocess.PIPE, text=True)
    return ended.returncode, ended.stdout


@pytest.mark.usefixtures("class_archive", "here")
def test_the_fixture_drills_a_stream() -> None:
    code, said = run("pytest -q test_app.py")
    assert (code, "1 passed" in said) == (0, True), said


@pytest.mark.usefixtures("class_archive")
def test_a_pipeline_is_drilled_on_the_sample_and_on_scratch_tables(here: Path) -> None:
    """Kafka and PostgreSQL, which it names, are not there at all."""
    command = "holdfast drill run chain:chain --source-sample sample --format json"
    code, said = run(f"{command} --only commits-before --directory {here / 'drill'}")
    found = msgspec.json.decode(said[said.index("{\n") :], type=SummaryJson)
    assert (code, found.verdict) == (ExitCode.DONE, "PASS"), said
    rows = (here / "drill/commits-before/rows.jsonl").read_text().splitlines()
    newest = {number % 7: number for number in range(800)}
    expected = [["first/first", number] for number in range(800)]
    expected += [["second/newest", *pair] for pair in newest.items()]
    assert sorted(map(json.loads, rows)) == sorted(expected)


@pytest.mark.usefixtures("class_archive")
def test_a_stream_is_drilled_from_where_it_is_now(here: Path) -> None:
    """The copy goes on after the three files that production has read; that stays as it was."""
    (here / "resumed.py").write_text(RESUMED)
    (here / "source").mkdir()
    for number in range(9):
        if number == 3:
            subprocess.run([sys.executable, "resumed.py"], check=True)
        path = here / f"source/f{number}.csv"
        path.write_text(f"{number}\n")
        os.utime(path, (1_700_000_000 + number,) * 2)
    before = kept(here / "production")
    command = "holdfast drill run resumed:read_on --checkpoint production/checkpoint --format json"
    code, said = run(f"{command} --only commits-before --directory {here / 'drill'}")
    found = msgspec.json.decode(said[said.index("{\n") :], type=SummaryJson)
    assert (code, found.verdict) == (ExitCode.DONE, "PASS"), said
    assert found.drills[0].kills == ["before:commits/3:1", "before:commits/6:1"]
    rows = (here / "drill/commits-before/rows.jsonl").read_text().splitlines()
    assert sorted(map(json.loads, rows)) == [["sink", number] for number in range(3, 9)]
    assert kept(here / "production") == before


@pytest.mark.usefixtures("class_archive")
@pytest.mark.parametrize(
    ("name", "bad", "told"),
    [
        ("counting", [], "7 rows of state are the same"),
        ("diverging", ["same-state"], "the state diverged: 7 lost, 0 duplicated, 7 unexpected"),
    ],
)
def test_state_is_compared_too(here: Path, *, name: str, bad: list[str], told: str) -> None:
    (here / "counts.py").write_text(COUNTING)
    command = f"holdfast drill run counts:{name} --source-sample sample --only commits-before"
    code, said = run(f"{command} --format json --directory {here / 'drill'}")
    (drill,) = msgspec.json.decode(said[said.index("{\n") :], type=SummaryJson).drills
    found = [each.check for each in drill.checks if each.verdict in {"FAIL", "UNKNOWN"}]
    assert found == bad, said
    assert code == (ExitCode.FOUND if bad else ExitCode.DONE)
    assert next(each.told for each in drill.checks if each.check == "same-state").startswith(told)


def kept(directory: Path) -> dict[str, bytes]:
    """Return every file below a directory."""
    files = (path for path in directory.rglob("*") if path.is_file())
    return {str(path.relative_to(directory)): path.read_bytes() for path in files}
