"""What prove, check and guard say over Spark Connect: the same as in a classic session."""

from __future__ import annotations

import os
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import psycopg
import pytest

from campaigns.connect_kills.client import APPENDED, COUNTS, LAKE
from campaigns.connect_kills.world import ROWS, World
from lab import Postgres
from lab.connect import python_path
from lab.spark import OWN, environment
from tests.spark import connect_answers

pytestmark = pytest.mark.sampled(1)
FILES = 2


@pytest.fixture(scope="module")
def world(
    postgres: Postgres, tmp_path_factory: pytest.TempPathFactory, class_archive: Path
) -> Iterator[World]:
    """Three streams that have run; each test leaves them exact."""
    assert class_archive.exists()
    with World(postgres, tmp_path_factory.mktemp("answers") / "world", APPENDED) as world:
        with psycopg.connect(world.dsn, autocommit=True) as connection:
            connection.execute("create table counts (k text primary key, n bigint, total bigint)")
        world.add(FILES)
        for shape in (APPENDED, LAKE, COUNTS):
            world.shape = shape
            client = world.client()
            assert client.wait() == 0, client.said()
        world.shape = APPENDED
        yield world


def answer(world: World, verb: str, *, is_classic: bool = False) -> dict[str, Any]:
    """Return what the session says, over Connect if it is not a classic one."""
    program = Path(connect_answers.__file__)
    path = os.pathsep.join([python_path(), str(program.parents[2])])
    variables = environment(world.home / "spark", {}, log_level="error") if is_classic else {}
    address = "" if is_classic else world.server.address
    ended = subprocess.run(
        [str(OWN.python), str(program), verb, address, str(world.home)],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, **variables, "PYTHONPATH": path, "DSN": world.dsn},
    )
    assert ended.returncode == 0, ended.stderr[-5000:]
    return msgspec.json.decode(ended.stdout.splitlines()[-1], type=dict[str, Any])


def test_tables_are_proved_and_a_planted_fault_is_found(world: World) -> None:
    exact = answer(world, "prove")
    assert {name: exact[name][:2] for name in (APPENDED, LAKE)} == {
        APPENDED: ["exact", [0, 0, 0, 0]],
        LAKE: ["exact", [0, 0, 0, 0]],
    }
    assert exact[COUNTS][0] == "not compared"
    assert "Spark Connect" in exact[COUNTS][2]
    with psycopg.connect(world.dsn, autocommit=True) as connection:
        connection.execute("delete from appended where id = 3")
        connection.execute("insert into appended select * from appended where id = 5")
        connection.execute("insert into appended values (-1, 'other')")
    try:
        find_planted(world)
    finally:
        with psycopg.connect(world.dsn, autocommit=True) as connection:
            connection.execute("delete from appended where id in (-1, 3, 5)")
            connection.execute("insert into appended values (3, 'k3'), (5, 'k5')")


def find_planted(world: World) -> None:
    """Compare what is said of a row too few, one too many and one of nobody."""
    told = answer(world, "prove")
    assert told[APPENDED] == ["not exact", [1, 1, 0, 1], ""]
    assert told[APPENDED] == answer(world, "prove", is_classic=True)[APPENDED]
    doubted = answer(world, "prove_random")[APPENDED]
    assert doubted[0] == "not compared"
    assert "rand" in doubted[2]


def test_code_is_checked_as_in_a_classic_session(world: World) -> None:
    assert answer(world, "check_plain") == answer(world, "check_plain", is_classic=True)
    told, known = answer(world, "check"), answer(world, "check", is_classic=True)
    for name in (f"{APPENDED} False", f"{APPENDED} True"):
        assert told[name] == known[name]
    # What keeps state is not told, and so it is unknown and never fine.
    assert (told[f"{COUNTS} False"][0], told[f"{COUNTS} True"][0]) == ([], ["HF410"])
    assert known[f"{COUNTS} True"][0] == ["HF410", "HF512"]
    assert told[f"{COUNTS} True"][1]
    assert told[f"{COUNTS} False"][1]


def test_a_source_that_has_nothing_yet_is_no_other_range(world: World) -> None:
    (world.home / "empty").mkdir()
    with psycopg.connect(world.dsn, autocommit=True) as connection:
        connection.execute("create table united (id bigint, k text)")
        answer(world, "unite")
        found = connection.execute("select * from united").fetchall()
    assert Counter(found) == world.expected(FILES)


def test_a_chain_is_guarded(world: World) -> None:
    world.add(2)
    assert answer(world, "guard") == {"guard": [True]}
    world.judge()
    world.add()
    client = world.client()
    assert client.wait() == 0, client.said()
    world.judge()


def test_a_range_is_filled_again(world: World) -> None:
    with psycopg.connect(world.dsn, autocommit=True) as connection:
        connection.execute(f"delete from appended where id < {FILES * ROWS}")
    done, chunks = answer(world, "backfill")["backfill"]
    assert done == chunks > 0
    world.judge()


def test_a_plan_that_changes_a_delta_table_is_carried_out_and_taken_back(world: World) -> None:
    world.shape = LAKE
    try:
        before = world.rows()
        count = before.total()
        assert answer(world, "reset")["rows"] == [count, 0, count]
        assert world.rows() == before
        world.add()
        client = world.client()
        assert client.wait() == 0, client.said()
        world.judge()
    finally:
        world.shape = APPENDED
