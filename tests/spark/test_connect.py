"""Guarded streams on a Spark Connect server whose Python lacks something: refused by name."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import msgspec
import psycopg
import pytest

from campaigns.connect_kills.client import APPENDED, BUDGET
from campaigns.connect_kills.owners import REFUSED
from campaigns.connect_kills.versions import VERSIONS
from campaigns.connect_kills.world import World
from lab import Postgres
from lab.connect import ConnectServer, python_path
from lab.spark import Installation, environment
from lab.versions import OWN_VERSION, installation_of
from lab.warm_up import ensure_archive
from tests.spark import connect_queries

QUERIES = 7
pytestmark = pytest.mark.sampled(1)


def doctor(server: ConnectServer, dsn: str, *more: str) -> subprocess.CompletedProcess[str]:
    python = str(server.installation.python)
    command = [python, "-m", "holdfast", "doctor", "--remote", server.address]
    return subprocess.run(
        [*command, "--secret", "env:DSN", *more],
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
def test_what_may_wait_of_a_batch_is_the_setting_of_the_client(
    postgres: Postgres, tmp_path: Path
) -> None:
    with World(postgres, tmp_path / "world", APPENDED) as world:
        world.add(2)
        refused = world.client(f"{BUDGET}=much")
        assert refused.wait() == REFUSED, refused.said()
        assert "is a number of bytes" in refused.said()
        assert not world.rows()
        world.server.aim("copying", 1)  # which the worker comes by when it writes itself
        by_tasks = world.client(f"{BUDGET}=1")
        assert by_tasks.wait() == 0, by_tasks.said()
        world.judge()
        assert not world.server.struck.exists()
        world.add()
        by_the_worker = world.client(f"{BUDGET}=1m")
        assert by_the_worker.wait() != 0
        assert world.server.struck.exists()


@pytest.mark.parametrize("version", [OWN_VERSION, *VERSIONS])
def test_both_ends_that_have_everything_are_told(
    postgres: Postgres, version: str, *, tmp_path: Path
) -> None:
    installation = installation_of(version)
    ensure_archive(installation)
    root = tmp_path / "root"
    (root / "holdfast").mkdir(parents=True)
    where = tmp_path / "world"
    with World(postgres, where, APPENDED, installation=installation) as world:
        looked = doctor(world.server, world.dsn, "--root", str(root))
        as_json = doctor(world.server, world.dsn, "--format", "json", "--root", f"{root}/none")
        told = run_notebook(world.server, world.dsn, root)
    assert looked.returncode == 0, looked.stdout + looked.stderr
    assert "found    env:DSN in the worker" in looked.stdout
    assert "found    the root, with 1 entries in it at both ends" in looked.stdout
    assert world.dsn not in looked.stdout + as_json.stdout + told
    lines = {each["said"]: each["state"] for each in json.loads(as_json.stdout)["looked_at"]}
    assert lines["env:DSN in the worker"] == "found"
    assert [lines[said] for said in lines if said.startswith("the root")] == ["unknown"]
    assert as_json.returncode == 3
    assert "found    the root, with 1 entries in it at both ends" in told
    assert "trigger={'availableNow': True}: taken" in told
    assert "not run by this notebook" in told
    assert [path.name for path in root.iterdir()] == ["holdfast"]


def run_notebook(server: ConnectServer, dsn: str, root: Path) -> str:
    """Return what the notebook for Databricks prints of a session on a server."""
    notebook = Path("examples/databricks/check_workspace.py").read_text()
    given = {'"env:READINGS_DSN"': '"env:DSN"', '"/Volumes/main/default/streams"': repr(str(root))}
    for was, now in given.items():
        assert was in notebook
        notebook = notebook.replace(was, now)
    session = "from pyspark.sql import SparkSession\n"
    session += f"spark = SparkSession.builder.remote({server.address!r}).getOrCreate()\n"
    return subprocess.run(
        [str(server.installation.python), "-c", session + notebook],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": python_path(), "DSN": dsn},
    ).stdout


@pytest.mark.parametrize("version", [OWN_VERSION, *VERSIONS])
def test_a_contract_is_the_same_as_that_of_a_classic_session(version: str, tmp_path: Path) -> None:
    installation = installation_of(version)
    ensure_archive(installation)
    (tmp_path / "in").mkdir()
    with ConnectServer(tmp_path / "server", installation=installation) as server:
        found = contracts(installation, server.address, tmp_path)
    expected = contracts(installation, "", tmp_path)
    assert len(found) == len(expected) == QUERIES
    # A view hides from a client what its sources were given; it says that it does not know.
    assert found[-1].pop("source_options") == []
    del expected[-1]["source_options"]
    assert found == expected


def contracts(installation: Installation, address: str, home: Path) -> list[dict[str, object]]:
    """Return what a client of a server, or a classic session, tells of each query."""
    program = Path(connect_queries.__file__)
    path = os.pathsep.join([python_path(), str(program.parents[2])])
    classic = environment(home / "spark", {}, log_level="error", installation=installation)
    variables = {"PYTHONPATH": path, **({} if address else classic)}
    ended = subprocess.run(
        [str(installation.python), str(program), address, str(home / "in")],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **variables},
    )
    assert ended.returncode == 0, ended.stderr
    return msgspec.json.decode(ended.stdout, type=list[dict[str, object]])
