"""`format("holdfast")` from a program without Python: Spark finds the data source by itself."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

import holdfast as hf
from campaigns.datasource_kills.world import World, make_world
from lab import Postgres
from lab.jvm_writer import MAIN, writer_jar
from lab.spark import environment, spark_home

pytestmark = pytest.mark.sampled(1)


def write(world: World, options: dict[str, str]) -> subprocess.CompletedProcess[str]:
    words = [f"{name}={value}" for name, value in options.items()]
    submit = str(spark_home() / "bin" / "spark-submit")
    given = [str(writer_jar()), str(world.directory / "in"), *words]
    spark = environment(world.directory / "spark", world.settings, log_level="error")
    return subprocess.run(
        [submit, "--class", MAIN, *given],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **spark, **world.told()},
    )


@pytest.mark.usefixtures("class_archive")
def test_a_java_program_writes_each_row_once_and_is_guarded(
    postgres: Postgres, tmp_path: Path
) -> None:
    world = make_world(postgres, tmp_path, "jvm")
    options = hf.guard_options(
        stream="readings",
        into=hf.Postgres("env:READINGS_DSN", table="readings"),
        root=str(tmp_path / "root"),
    )
    for files in (2, 1):
        for _ in range(files):
            world.add()
        ended = write(world, options)
        assert ended.returncode == 0, ended.stderr[-5000:]
        world.look()
        assert (world.last(), world.wrong) == (len(world.files) - 1, [])
    world.add()
    elsewhere = {**options, "checkpointLocation": str(tmp_path / "elsewhere")}
    refused = write(world, elsewhere)
    assert refused.returncode != 0
    assert "and its checkpoint is" in refused.stderr
    world.look()
    assert (world.last(), world.wrong) == (2, [])
