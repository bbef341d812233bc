"""Guarded streams on a Spark Connect server whose Python lacks something: refused by name."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import psycopg
import pytest
from pyspark.sql import SparkSession

from campaigns.connect_kills.client import APPENDED
from campaigns.connect_kills.owners import REFUSED
from campaigns.connect_kills.world import World
from lab import Postgres
from lab.connect import ConnectServer, python_path
from tests.spark import connect_queries

pytestmark = pytest.mark.sampled(1)


def doctor(server: ConnectServer, dsn: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "holdfast", "doctor", "--remote", server.address]
    return subprocess.run(
        [*command, "--secret", "env:DSN"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": python_path(), "DSN": dsn},
    )


@pytest.mark.usefixtures("class_archive")
def test_a_server_without_holdfast_is_refused_and_nothing_is_written(
    postgres: Postgres, tmp_path: Path
) -> None:
    with World(postgres, tmp_path / "world", APPENDED, has_holdfast=False) as world:
        world.add()
        client = world.client()
        assert client.wait() == REFUSED, client.said()
        assert "SERVER_LACKS The server's Python has no module holdfast" in client.said()
        assert not world.rows()
        looked = doctor(world.server, world.dsn)
    assert looked.returncode == 1, looked.stdout + looked.stderr
    assert "missing  Holdfast in the worker of the server" in looked.stdout


@pytest.mark.usefixtures("class_archive")
def test_a_server_with_another_database_is_refused_and_nothing_is_written(
    postgres: Postgres, tmp_path: Path
) -> None:
    other = postgres.create_database("another_for_connect")
    with World(postgres, tmp_path / "world", APPENDED, server_dsn=other) as world:
        world.add()
        client = world.client()
        assert client.wait() == REFUSED, client.said()
        assert "SERVER_LACKS" in client.said()
        assert not world.rows()
    with psycopg.connect(other) as connection:
        assert connection.execute("select to_regclass('appended')").fetchone() == (None,)


@pytest.mark.usefixtures("class_archive")
def test_both_ends_that_have_everything_are_told(postgres: Postgres, tmp_path: Path) -> None:
    with World(postgres, tmp_path / "world", APPENDED) as world:
        looked = doctor(world.server, world.dsn)
    assert looked.returncode == 0, looked.stdout + looked.stderr
    assert "found    env:DSN in the worker" in looked.stdout
    assert world.dsn not in looked.stdout


@pytest.mark.usefixtures("class_archive")
def test_a_contract_is_the_same_as_that_of_a_classic_session(
    spark: SparkSession, tmp_path: Path
) -> None:
    directory = tmp_path / "in"
    directory.mkdir()
    program = Path(connect_queries.__file__)
    with ConnectServer(tmp_path / "server") as server:
        command = [sys.executable, str(program), server.address, str(directory)]
        path = os.pathsep.join([python_path(), str(program.parents[2])])
        ended = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            env={**os.environ, "PYTHONPATH": path},
        )
    assert ended.returncode == 0, ended.stderr
    found = msgspec.json.decode(ended.stdout)
    expected = connect_queries.contracts(spark, str(directory))
    # A view hides from a client what its sources were given; it says that it does not know.
    assert found[-1].pop("source_options") == []
    del expected[-1]["source_options"]
    assert found == msgspec.json.decode(msgspec.json.encode(expected))
