"""`format("holdfast")` on Spark Connect: a client's stream, and a flow of a pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from campaigns.datasource_kills.chains import strike_all
from campaigns.datasource_kills.struck_source import DIRECTORY, STRIKE
from campaigns.datasource_kills.world import STAGED, World, make_world
from lab import Postgres
from lab.pipelines import PipelineServer, client_packages

pytestmark = pytest.mark.sampled(1)
_SINK = """\
from pyspark import pipelines as dp
from pyspark.sql import SparkSession, functions as F
import holdfast as hf

spark = SparkSession.active()
into = hf.Postgres("env:READINGS_DSN", table="readings")
options = hf.guard_options(stream="readings", into=into, root="{root}", checkpoint="")
dp.create_sink("readings", format="holdfast", options=options)


{decorated}
def rows():
    lines = spark.readStream.format("text").option("maxFilesPerTrigger", 1).load("{files}")
    number = F.split_part("value", F.lit(" "), F.lit(1)).cast("long")
    return lines.select(number.alias("id"), "value")
"""
_FLOW, _VIEW = '@dp.append_flow(target="readings", name="to_readings")', "@dp.temporary_view"
_FLOW_OF_SQL = """

@dp.append_flow(target="readings", name="to_readings")
def to_readings():
    return spark.readStream.table("typed")
"""
_TYPED = "CREATE TEMPORARY VIEW typed AS SELECT id, concat(value, '') AS value FROM STREAM rows;"
_INSERT = "CREATE FLOW to_readings AS INSERT INTO readings BY NAME SELECT * FROM STREAM rows;"


@pytest.fixture
def world(postgres: Postgres, tmp_path: Path) -> World:
    return make_world(postgres, tmp_path, f"connect_{tmp_path.name[-20:].replace('-', '_')}")


@pytest.fixture
def server(world: World, monkeypatch: pytest.MonkeyPatch) -> Iterator[PipelineServer]:
    for name in ("READINGS_DSN", "PYTHONPATH", DIRECTORY):
        monkeypatch.setenv(name, world.variables()[name])
    with PipelineServer() as started:
        world.client = {"SPARK_REMOTE": started.address}
        world.packages = (client_packages(),)
        yield started


@pytest.mark.usefixtures("server")
def test_a_client_of_connect_is_exact_under_kills_of_workers(world: World) -> None:
    world.width = STAGED
    strikes = ("worker task-end", "worker S4", "worker S6", "raise S5", "raise S6")
    assert "0 lost, 0 duplicated" in strike_all(world, strikes)


def write_project(world: World, python: str, sql: str = "") -> Path:
    """Write the files of a pipeline."""
    (world.directory / STRIKE).write_text("")
    code = world.directory / "project" / "transformations" / "flow.py"
    code.parent.mkdir(parents=True)
    code.write_text(python)
    if sql:
        code.with_suffix(".sql").write_text(sql)
    return code.parents[1]


def sink(world: World, decorated: str) -> str:
    """Return the sink in Python, and the stream that it gets or that SQL reads."""
    files, root = world.directory / "in", world.directory / "root"
    return _SINK.format(root=root, files=files, decorated=decorated)


@pytest.mark.parametrize("in_sql", [False, True])
def test_a_full_refresh_of_a_pipeline_is_refused(
    world: World, server: PipelineServer, *, in_sql: bool
) -> None:
    for _ in range(2):
        world.add()
    python = sink(world, _VIEW) + _FLOW_OF_SQL if in_sql else sink(world, _FLOW)
    project = write_project(world, python, _TYPED if in_sql else "")
    first = server.run(project)
    assert first.is_completed, first.said[-5000:]
    world.add()
    again = server.run(project)
    assert again.is_completed, again.said[-5000:]
    world.look()
    assert (world.last(), world.wrong) == (2, [])
    world.add()
    refreshed = server.run(project, refresh_all=True)
    world.look()
    assert (world.last(), world.wrong) == (2, []), refreshed.said[-5000:]
    assert not refreshed.is_completed
    assert "A query that begins on another checkpoint reads everything again" in refreshed.said


def test_spark_takes_no_sink_as_the_target_of_a_flow_in_sql(
    world: World, server: PipelineServer
) -> None:
    world.add()
    ran = server.run(write_project(world, sink(world, _VIEW), _INSERT))
    assert not ran.is_completed
    assert "Unsupported destination" in ran.said, ran.said[-5000:]
    world.look()
    assert (world.last(), world.wrong) == (-1, [])
