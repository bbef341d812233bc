"""A batch that is attached as partitions: all of it or nothing, whoever looks, dies or is late."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from psycopg import IsolationLevel

from holdfast import points
from holdfast.errors import HoldfastError
from holdfast.ledger import Apply, Reason, Refuse, Skip
from holdfast.sinks.postgres import attach, write
from holdfast.sinks.postgres.attach import NewPart
from holdfast.sinks.postgres.attach_check import of_snapshot
from holdfast.sinks.postgres.examine import examine
from holdfast.sinks.postgres.fence import take
from holdfast.sinks.postgres.ledger_rows import fence, read_row
from holdfast.sinks.postgres.part_task import PartTask
from tests.attached_parts import CREATE, PARTITIONS, WAITING, Parted, record_batch, run_task
from tests.ledger_rows import ROW, attempt

NEWER: dict[str, Any] = {"epoch": 2, "nonce": "n2"}


@pytest.fixture
def parted(database: str) -> Iterator[Parted]:
    found = Parted(database)
    yield found
    found.connection.close()


def test_what_several_tasks_have_copied_is_one_batch(parted: Parted) -> None:
    parts = [parted.copy(1, 2), parted.copy(2, 3), parted.copy()]
    assert [part.rows for part in parts] == [2, 2, 0]
    assert parted.ids == Counter()
    assert parted.write(*parts) == Apply()
    assert parted.ids == Counter({1: 1, 2: 2, 3: 1})
    assert parted.write(*parts) == Skip()
    assert parted.write(parted.copy(4, number=1), number=1) == Apply()
    assert parted.ids == Counter({1: 1, 2: 2, 3: 1, 4: 1})
    assert [name.split("_")[:2] for name in parted.names(PARTITIONS)] == [
        ["readings", "0"], ["readings", "0"], ["readings", "1"],
    ]  # fmt: skip
    checks = "SELECT conname FROM pg_constraint WHERE contype = 'c' AND conrelid <> 0"
    assert (parted.names(WAITING), parted.names(checks)) == ([], [])


def test_an_empty_batch_writes_only_the_ledger_row(parted: Parted) -> None:
    assert parted.write(parted.copy(), parted.copy()) == Apply()
    row = read_row(parted.connection, "readings", "readings")
    assert row is not None
    assert (row.last_batch, parted.names(PARTITIONS)) == (0, [])


def test_attach_does_not_read_the_rows_and_takes_their_indexes(database: str) -> None:
    columns = "id bigint, holdfast_part bigint NOT NULL, note text DEFAULT 'none'"
    parted = Parted(
        database,
        create=f"CREATE TABLE readings ({columns},"
        " twice bigint GENERATED ALWAYS AS (id * 2) STORED, CHECK (id > 0),"
        " PRIMARY KEY (id, holdfast_part)) PARTITION BY LIST (holdfast_part);"
        " CREATE INDEX ON readings (lower(note))",
    )
    said: list[str | None] = []
    parted.connection.add_notice_handler(lambda notice: said.append(notice.message_primary))
    parted.connection.execute("SET client_min_messages = debug1")
    assert parted.write(parted.copy(1, 2)) == Apply()
    assert [line for line in said if line and "implied by existing" in line]
    assert not [line for line in said if line and "building index" in line]
    found = parted.connection.execute("SELECT id, note, twice FROM readings ORDER BY 1").fetchall()
    parted.connection.close()
    assert found == [(1, "none", 2), (2, "none", 4)]


LONG = "a_column_with_a_name_of_forty_characters", "another_column_with_a_name_as_long_as_it"


def test_tasks_do_not_wait_for_the_names_of_each_others_indexes(database: str) -> None:
    """PostgreSQL names an index after its table and columns, and cuts what is too long."""
    columns = ", ".join(f"{name} bigint" for name in LONG)
    unique = f"UNIQUE ({', '.join(LONG)}, holdfast_part)"
    create = CREATE.replace("id bigint,", f"id bigint, {columns},")
    create = create.replace("NOT NULL)", f"NOT NULL, {unique})", 1)
    parted = Parted(database, create=create)
    others: list[NewPart] = []

    def rows() -> Iterator[Any]:
        yield record_batch([1])
        others.append(parted.copy(2, number=12345, epoch=40))
        yield record_batch([3])

    first = run_task(parted.task(12345, epoch=40), rows())
    assert [first.rows, *(each.rows for each in others)] == [2, 1]
    names = parted.names(WAITING)
    assert len(names) == len({name[:23] for name in names}) == 2
    parted.connection.close()


@pytest.mark.parametrize("is_frozen", [True, False])
def test_no_snapshot_sees_a_part_of_a_batch(
    parted: Parted, *, is_frozen: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even one that began between two tasks: without FREEZE it would."""
    if not is_frozen:
        copy = psycopg.Cursor.copy
        monkeypatch.setattr(
            psycopg.Cursor,
            "copy",
            lambda self, text, **given: copy(self, text.replace(b", FREEZE", b""), **given),
        )
    first = parted.copy(1, 2)
    whole = of_snapshot(parted.target.name)
    with psycopg.connect(parted.dsn) as reader:
        reader.isolation_level = IsolationLevel.REPEATABLE_READ
        assert reader.execute("SELECT id FROM readings").fetchall() == []
        second = parted.copy(3)
        assert reader.execute("SELECT id FROM readings").fetchall() == []
        assert parted.write(first, second) == Apply()
        seen = Counter(one for (one,) in reader.execute("SELECT id FROM readings"))
        assert reader.execute(f"SELECT id FROM {whole}".encode()).fetchall() == []
    assert seen == Counter([1, 2, 3] if is_frozen else [1, 2])
    assert parted.connection.execute(f"SELECT id FROM {whole}".encode()).rowcount == 3


def test_an_attempt_that_commits_late_changes_nothing_and_is_dropped(parted: Parted) -> None:
    lost, named = parted.copy(1, 2), parted.copy(1, 2)  # the first answer never came
    assert parted.write(named) == Apply()
    late = parted.copy(1, 2)
    assert (lost.rows, late.rows, parted.ids) == (2, 2, Counter([1, 2]))
    assert len(parted.names(WAITING)) == 1
    assert parted.write(parted.copy(3, number=1), number=1) == Apply()
    assert (parted.names(WAITING), parted.ids) == ([], Counter([1, 2, 3]))


def test_a_task_that_ends_in_the_middle_leaves_no_table(parted: Parted) -> None:
    def failing() -> Iterator[Any]:
        from tests.attached_parts import record_batch  # noqa: PLC0415 - beside its use

        yield record_batch([1])
        raise RuntimeError("the source is gone")

    with pytest.raises(RuntimeError):
        list(parted.task()(failing()))
    assert parted.names(WAITING) == []


def fence_again(parted: Parted) -> None:
    def change() -> Any:
        return fence(parted.connection, ROW, **NEWER)

    assert take(parted.connection, ROW, change) is not None


@pytest.mark.parametrize("is_asked", [True, False])
def test_an_older_driver_attaches_nothing(
    parted: Parted, *, is_asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The planted bug, a driver that does not ask the ledger, has the rows there twice."""
    old = parted.copy(1, 2)
    fence_again(parted)
    assert parted.write(parted.copy(1, 2, **NEWER), **NEWER) == Apply()
    old = old if parted.names(WAITING) else parted.copy(1, 2)
    if not is_asked:
        monkeypatch.setattr(write.BatchTransaction, "decide", lambda *_: Apply())
        assert parted.write(old) == Apply()
        assert parted.ids == Counter([1, 1, 2, 2])
        return
    assert parted.write(old) == Refuse(Reason.EPOCH_FENCED)
    assert parted.ids == Counter([1, 2])
    assert parted.write(parted.copy(3, number=1, **NEWER), number=1, **NEWER) == Apply()
    assert parted.names(WAITING) == []


@pytest.mark.parametrize("point", ["copying", "S4", "S5"])
def test_an_owner_that_is_paused_in_its_step_is_ended_and_attaches_nothing(
    parted: Parted, point: str
) -> None:
    inside, go_on, ended = threading.Event(), threading.Event(), []
    owner = Parted.__new__(Parted)
    owner.dsn, owner.target = parted.dsn, parted.target
    owner.connection = psycopg.connect(parted.dsn, autocommit=True)
    part = parted.copy(1, 2)

    def run() -> None:
        try:
            owner.write(part)
        except psycopg.Error as error:
            ended.append(type(error))

    beside = threading.Thread(target=run)

    def halt(reached: str) -> None:
        if reached == point and threading.current_thread() is beside:
            inside.set()
            go_on.wait(60)

    points.listen(halt)
    try:
        beside.start()
        assert inside.wait(30)
        fence_again(parted)
        assert parted.write(parted.copy(1, 2, **NEWER), **NEWER) == Apply()
    finally:
        points.listen(None)
        go_on.set()
        beside.join(60)
    assert len(ended) == 1
    assert (parted.ids, parted.names(WAITING)) == (Counter([1, 2]), [])


def test_the_table_is_locked_once_before_the_ledger_row(parted: Parted) -> None:
    """A lock that grows behind the ledger row would wait for ANALYZE, or with a DETACH for ever."""
    found: list[set[str]] = []
    look = "SELECT mode FROM pg_locks WHERE relation = 'readings'::regclass"
    part = parted.copy(1)

    def hear(point: str) -> None:
        if point == "S2":
            with psycopg.connect(parted.dsn) as other:
                found.append({mode for (mode,) in other.execute(look)})

    points.listen(hear)
    try:
        assert parted.write(part) == Apply()
    finally:
        points.listen(None)
    assert [modes - {"AccessShareLock"} for modes in found] == [{"ShareUpdateExclusiveLock"}]


def test_only_tables_that_wait_are_dropped_and_only_ours(parted: Parted) -> None:
    """Not a partition, not one that was detached, not another stream's, not one of this batch."""
    assert parted.write(parted.copy(1)) == Apply()
    (kept,) = parted.names(PARTITIONS)
    assert parted.write(parted.copy(2, number=1), number=1) == Apply()
    parted.connection.execute(f"ALTER TABLE readings DETACH PARTITION {kept}".encode())
    other = parted.copy(7, stream="another")
    next_one = parted.copy(8, number=3)
    assert parted.write(parted.copy(3, number=2), number=2) == Apply()
    assert len(parted.names(WAITING)) == 2
    assert parted.write(next_one, number=3) == Apply()
    assert other.rows == len(parted.names(WAITING)) == 1
    assert parted.ids == Counter([2, 3, 8])
    assert parted.connection.execute(f"SELECT id FROM {kept}".encode()).fetchall() == [(1,)]


def test_a_waiting_table_that_was_attached_by_hand_or_is_in_use_stays(
    parted: Parted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attach, "_DROP_TIMEOUT_MS", 50)
    by_hand, in_use = parted.copy(5), parted.copy(6)
    name, used = (attach.waiting_name(attempt(0), part.value) for part in (by_hand, in_use))
    values = f"FOR VALUES IN ({by_hand.value})"
    parted.connection.execute(f"ALTER TABLE readings ATTACH PARTITION {name} {values}".encode())
    with psycopg.connect(parted.dsn) as reader:
        reader.execute(f"SELECT FROM {used}".encode())
        assert parted.write(parted.copy(1)) == Apply()
        assert sorted(parted.names(WAITING)) == sorted([name, used])
    assert parted.write(parted.copy(2, number=1), number=1) == Apply()
    assert parted.names(WAITING) == [name]
    assert parted.ids == Counter([1, 2, 5])


def test_a_waiting_table_that_cannot_be_dropped_does_not_keep_the_others(parted: Parted) -> None:
    kept, dropped = sorted(
        attach.waiting_name(attempt(0), part.value) for part in (parted.copy(5), parted.copy(6))
    )
    parted.connection.execute(f"CREATE VIEW seen AS SELECT FROM {kept}".encode())
    assert parted.write(parted.copy(1)) == Apply()
    assert dropped not in parted.names(WAITING)
    assert parted.names(WAITING) == [kept]


HARM = {
    "DROP TABLE {new}": "STAGE_LOST",
    "TRUNCATE {new}": "STAGE_LOST",
    "ALTER TABLE {new} RENAME TO gone; CREATE TABLE {new} (LIKE gone INCLUDING ALL)": "STAGE_LOST",
    "ALTER TABLE readings ADD more bigint": "STAGE_LOST",
    "CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END';"
    " CREATE TRIGGER t AFTER INSERT ON readings FOR EACH ROW EXECUTE FUNCTION f()": "TABLE_CHANGED",
    "ALTER TABLE readings ALTER id TYPE int": "TABLE_CHANGED",
    "ALTER TABLE readings RENAME TO gone; CREATE TABLE readings (LIKE gone)"
    " PARTITION BY LIST (holdfast_part)": "TABLE_CHANGED",
}


@pytest.mark.parametrize(("harm", "code"), HARM.items())
def test_nothing_is_committed_when_something_was_changed(
    parted: Parted, harm: str, code: str
) -> None:
    part, other = parted.copy(1, 2), parted.copy(3)
    name = attach.waiting_name(attempt(0), part.value)
    parted.connection.execute(harm.format(new=name).encode())
    with pytest.raises(HoldfastError) as refused:
        parted.write(other, part)
    assert refused.value.code == code
    assert (parted.ids, parted.names(PARTITIONS)) == (Counter(), [])


def test_a_value_that_comes_twice_is_refused_by_the_server(
    parted: Parted, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.sinks.postgres.part_task.secrets.randbelow", lambda _: 4)
    assert parted.write(parted.copy(1)) == Apply()
    with pytest.raises(psycopg.errors.InvalidObjectDefinition, match="overlap"):
        parted.write(parted.copy(2, number=1), number=1)
    assert parted.ids == Counter([1])


def test_a_partition_that_is_truncated_is_noticed_by_the_next_batch(parted: Parted) -> None:
    assert parted.write(parted.copy(1)) == Apply()
    (name,) = parted.names(PARTITIONS)
    parted.connection.execute(f"TRUNCATE {name}".encode())
    with pytest.raises(HoldfastError) as refused:
        parted.write(parted.copy(2, number=1), number=1)
    assert refused.value.code == "TABLE_CHANGED"


def test_an_older_partition_that_is_truncated_is_noticed_by_the_next_start(parted: Parted) -> None:
    """Also where other writers have brought as many rows as it had."""
    for number in range(3):
        assert parted.write(parted.copy(number, number=number), number=number) == Apply()
    (oldest, *_) = parted.names(PARTITIONS)
    others = "CREATE TABLE others PARTITION OF readings FOR VALUES IN (-1)"
    parted.connection.execute(others.encode())
    parted.connection.execute(b"INSERT INTO readings SELECT 9, -1 FROM generate_series(1, 9)")
    row = read_row(parted.connection, "readings", "readings")
    assert row is not None
    assert examine(parted.connection, row, parted.target) is None
    parted.connection.execute(f"TRUNCATE {oldest}".encode())
    assert "remembers" in str(examine(parted.connection, row, parted.target))


def test_what_a_task_cannot_do_is_brought_back(parted: Parted) -> None:
    task = PartTask(dsn="env:NOT_SET_ANYWHERE", target=parted.target, attempt=attempt(0))
    from tests.attached_parts import record_batch, run_task  # noqa: PLC0415 - beside its use

    with pytest.raises(HoldfastError, match="NOT_SET_ANYWHERE"):
        run_task(task, iter([record_batch([1])]))
    parted.connection.execute("DROP TABLE readings")
    with pytest.raises(HoldfastError) as refused:
        parted.copy(1)
    assert refused.value.code == "SERVER_REFUSED"
