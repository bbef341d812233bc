"""Settling a real PostgreSQL table: whose rows are whose, what comes back, what stops it.

Batches are written by the sink's own writer; no Spark is needed for that.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pyarrow as pa
import pytest
from psycopg.conninfo import make_conninfo

import holdfast as hf
from holdfast.ids import BatchId
from holdfast.ledger.output import CannotSettleError, EmptyOutput, ExchangeOutput, KeepOutput
from holdfast.ledger.row import NO_BATCH, LedgerRow
from holdfast.sinks.postgres.ledger import PostgresLedgerStore
from holdfast.sinks.postgres.ledger_rows import replace_row
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from holdfast.sinks.postgres.table import check_table
from holdfast.sinks.postgres.write import write_batch
from lab import Postgres
from tests.ledger_rows import ROW, attempt

SCHEMA = pa.schema([("id", pa.int64())])
KEPT = "holdfast.kept_one"


class Table:
    """A table with one stream, or two, that write into it."""

    def __init__(self, dsn: str, *, keys: tuple[str, ...] = ()) -> None:
        self.connection: psycopg.Connection[Any] = psycopg.connect(dsn, autocommit=True)
        ensure_tables(self.connection)
        key = " PRIMARY KEY" if keys else ""
        self.connection.execute(f"CREATE TABLE readings (id bigint{key})")
        self.keys = keys
        replace_row(self.connection, None, ROW, target="readings")
        self.store = PostgresLedgerStore(hf.Postgres(lambda: dsn, table="readings", keys=keys))

    @property
    def row(self) -> LedgerRow:
        found = self.store.read(ROW.stream)
        assert isinstance(found, LedgerRow)
        return found

    def write(self, *ids: int, stream: str = ROW.stream) -> None:
        """Write one batch."""
        row = self.row
        given = {"stream": stream, "generation": row.generation, "epoch": row.epoch}
        if stream != ROW.stream:
            other = replace(ROW, stream=stream)
            replace_row(self.connection, None, other, target="readings")
            given |= {"generation": ROW.generation, "epoch": ROW.epoch}
            row = other
        number = row.last_batch + 1
        batch = attempt(number, **given, nonce=row.nonce, binding=row.binding)
        batch = replace(batch, start_offsets=row.end_offsets)
        target = check_table(self.connection, "readings", SCHEMA, keys=self.keys)
        rows = [pa.record_batch([pa.array(ids, pa.int64())], schema=SCHEMA)]
        write_batch(self.connection, target, batch, batches=rows)

    def settle(self, output: Any, *, batch: int = NO_BATCH, seen: str | None = None) -> None:
        """Open the next generation."""
        old = self.row
        digest = None if batch == NO_BATCH else f"d{batch}"
        new = replace(
            old,
            generation=old.generation + 1,
            epoch=old.epoch + 1,
            last_batch=BatchId(batch),
            digest=digest,
        )
        assert self.store.settle(old, new, output, seen=seen)

    def exchange(self, kept: str | None, aside: str = "holdfast.kept_two") -> ExchangeOutput:
        """Return what an undo of the newest generation does."""
        generation = self.row.generation
        since = self.store.since(ROW.stream, generation=generation)
        return ExchangeOutput(generation=generation, kept=kept, aside=aside, rows=since.own_rows)

    def obstacle(self, output: Any) -> str | None:
        return self.store.find_obstacle(replace(self.row, generation=9), output)

    def execute(self, statement: str) -> list[Any]:
        cursor = self.connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []

    def ids(self, table: str = "readings") -> list[int]:
        return sorted(each for (each,) in self.execute(f"SELECT id FROM {table}"))


@pytest.fixture
def dsn(postgres: Postgres) -> str:
    return postgres.create_database(f"settle_{uuid.uuid4().hex[:12]}")


@pytest.fixture
def table(dsn: str) -> Iterator[Table]:
    made = Table(dsn)
    yield made
    made.store.close()
    made.connection.close()


def test_an_undo_gives_rows_back_and_leaves_those_of_others(table: Table) -> None:
    table.write(1, 2)
    table.settle(EmptyOutput(kept=KEPT))
    assert (table.ids(), table.ids(KEPT)) == ([], [1, 2])
    table.write(3, 4, 5)
    table.write(20, 21, stream="other")
    table.execute("INSERT INTO readings VALUES (777)")
    since = table.store.since(ROW.stream, generation=table.row.generation)
    assert since.own_rows == 3
    assert since.others == ("other wrote 2 rows", "1 row was written by other sessions")
    output = table.exchange(KEPT)
    assert table.obstacle(output) is None
    table.settle(output, batch=0)
    assert table.ids() == [1, 2, 20, 21, 777]
    assert table.ids("holdfast.kept_two") == [3, 4, 5]


def test_an_undo_of_the_undo_takes_exactly_those_rows_again(table: Table) -> None:
    table.write(1, 2)
    table.settle(EmptyOutput(kept=KEPT))
    table.write(3)
    table.settle(table.exchange(KEPT), batch=0)
    table.write(4)
    table.execute("INSERT INTO readings VALUES (777)")
    again = table.exchange("holdfast.kept_two", aside="holdfast.kept_three")
    assert again.rows == 3
    table.settle(again, batch=0)
    assert (table.ids(), table.ids("holdfast.kept_three")) == ([3, 777], [1, 2, 4])


def test_a_table_that_is_filled_by_another_after_an_undo_is_noticed(table: Table) -> None:
    table.write(1, 2)
    table.settle(EmptyOutput(kept=KEPT))
    table.settle(table.exchange(KEPT), batch=0)
    assert table.store.examine(table.row) is None
    table.execute("TRUNCATE readings")
    table.execute("INSERT INTO readings VALUES (8), (9)")
    assert "none of the rows" in (table.store.examine(table.row) or "")


def test_rows_that_were_kept_stay_when_later_ones_are_taken_away(table: Table) -> None:
    table.write(1)
    table.settle(KeepOutput(), batch=0)
    table.write(2)
    table.settle(table.exchange(None), batch=0)
    assert (table.ids(), table.ids("holdfast.kept_two")) == ([1], [2])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE readings SET id = 30 WHERE id = 3", "1 rows of this generation were updated"),
        ("DELETE FROM readings WHERE id = 3", "1 rows of this generation were updated or deleted"),
        ("DELETE FROM holdfast.history", "does not have the transaction of batch 0"),
        ("UPDATE holdfast.history SET xid = NULL", "does not have the transaction of batch 0"),
        ("DELETE FROM holdfast.settled", "does not say how this generation was opened"),
    ],
)
def test_rows_that_cannot_be_told_apart_are_not_taken_away(
    table: Table, change: str, said: str
) -> None:
    table.write(1, 2)
    table.settle(EmptyOutput(kept=KEPT))
    table.write(3, 4)
    output = table.exchange(KEPT)
    table.execute(change)
    before = table.ids()
    since = table.store.since(ROW.stream, generation=table.row.generation)
    assert said in since.unclear
    assert said in (table.obstacle(output) or "")
    with pytest.raises(CannotSettleError, match="cannot be told apart"):
        table.settle(output, batch=0)
    assert table.ids() == before


def test_a_rewritten_table_still_knows_whose_rows_are_whose(table: Table) -> None:
    table.write(1)
    table.settle(EmptyOutput(kept=KEPT))
    table.write(2)
    table.execute("VACUUM (FULL, FREEZE) readings")
    table.settle(table.exchange(KEPT), batch=0)
    assert table.ids() == [1]


def test_a_column_that_was_added_has_its_default_in_rows_that_come_back(table: Table) -> None:
    table.write(1)
    table.settle(EmptyOutput(kept=KEPT))
    table.execute("ALTER TABLE readings ADD COLUMN note text, ADD COLUMN n int DEFAULT 7")
    output = table.exchange(KEPT)
    assert table.obstacle(output) is None
    table.settle(output, batch=0)
    assert table.execute("SELECT id, note, n FROM readings") == [(1, None, 7)]


OBSTACLES = {
    "ALTER TABLE readings ADD COLUMN n int NOT NULL": "takes no NULL and has no default",
    "ALTER TABLE readings RENAME COLUMN id TO key": "its column id is gone",
    "ALTER TABLE readings ALTER COLUMN id TYPE numeric": "was bigint, and is numeric now",
    "ALTER TABLE readings ADD CHECK (id > 5)": "violates check constraint",
    "CREATE UNIQUE INDEX ON readings (id); INSERT INTO readings VALUES (1)": "duplicate key",
    "CREATE TABLE p (id bigint PRIMARY KEY); ALTER TABLE readings ADD FOREIGN KEY (id)"
    " REFERENCES p": "refer to rows of p that are gone",
    "CREATE RULE r AS ON INSERT TO readings DO INSTEAD NOTHING": "The rule r",
    f"DROP TABLE {KEPT}": "is gone",
}


@pytest.mark.parametrize("change", OBSTACLES)
def test_what_would_stop_an_undo_is_found_before_it(table: Table, change: str) -> None:
    table.write(1, 2)
    table.settle(EmptyOutput(kept=KEPT))
    output = table.exchange(KEPT)
    table.execute(change)
    rows = "SELECT count(*), sum(hashtext(r::text)) FROM readings r"
    before = table.execute(rows)
    assert OBSTACLES[change] in (table.obstacle(output) or "")
    with pytest.raises((CannotSettleError, hf.HoldfastError)):
        table.settle(output, batch=0)
    assert table.execute(rows) == before


def test_a_foreign_key_stops_a_reset_before_it(table: Table) -> None:
    table.write(1)
    table.execute("ALTER TABLE readings ADD PRIMARY KEY (id)")
    table.execute("CREATE TABLE kid (id bigint REFERENCES readings)")
    assert "kid refers to" in (table.obstacle(EmptyOutput(kept=KEPT)) or "")


TRIGGER = """
CREATE SEQUENCE q; ALTER TABLE readings ADD COLUMN at timestamptz, ADD COLUMN n bigint;
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN new.at := clock_timestamp(); new.n := nextval('q'); RETURN new; END $$;
CREATE TRIGGER stamp BEFORE INSERT ON readings FOR EACH ROW EXECUTE FUNCTION stamp();
CREATE TRIGGER always BEFORE INSERT ON readings FOR EACH ROW EXECUTE FUNCTION stamp();
ALTER TABLE readings ENABLE ALWAYS TRIGGER always;
CREATE TRIGGER off BEFORE INSERT ON readings FOR EACH ROW EXECUTE FUNCTION stamp();
ALTER TABLE readings DISABLE TRIGGER off;
"""
_MODES = "SELECT tgname, tgenabled FROM pg_trigger WHERE NOT tgisinternal ORDER BY 1"


DEFERRED = """
CREATE TABLE p (id bigint PRIMARY KEY); INSERT INTO p VALUES (1), (2);
ALTER TABLE readings ADD FOREIGN KEY (id) REFERENCES p DEFERRABLE INITIALLY DEFERRED;
"""


@pytest.mark.parametrize("more", ["", DEFERRED], ids=["alone", "beside a deferred key"])
def test_triggers_do_not_alter_rows_that_come_back(table: Table, more: str) -> None:
    table.execute(TRIGGER + more)
    table.write(1, 2)
    before, modes = table.execute("TABLE readings"), table.execute(_MODES)
    table.settle(EmptyOutput(kept=KEPT))
    table.settle(table.exchange(KEPT), batch=0)
    assert table.execute("TABLE readings") == before
    assert table.execute(_MODES) == modes


def test_a_trigger_that_only_its_owner_switches_off_stops_an_undo(table: Table, dsn: str) -> None:
    table.execute(TRIGGER)
    table.write(1)
    table.settle(EmptyOutput(kept=KEPT))
    output = table.exchange(KEPT)
    role = f"low_{uuid.uuid4().hex[:8]}"
    table.execute(
        f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT ALL ON readings TO {role};"
        f" GRANT ALL ON SCHEMA holdfast TO {role}; GRANT ALL ON ALL TABLES IN SCHEMA holdfast TO"
        f" {role}"
    )
    its_dsn = make_conninfo(dsn, user=role, password="x")
    low = PostgresLedgerStore(hf.Postgres(lambda: its_dsn, table="readings"))
    assert "only the table's owner" in (low.find_obstacle(replace(table.row), output) or "")
    low.close()


def test_rows_of_tables_that_inherit_are_left_alone(table: Table) -> None:
    table.execute("CREATE TABLE child () INHERITS (readings); INSERT INTO child VALUES (100)")
    table.write(1)
    table.settle(EmptyOutput(kept=KEPT))
    assert (table.ids(), table.ids(KEPT)) == ([100], [1])
    table.write(2)
    table.settle(table.exchange(KEPT), batch=0)
    assert table.ids() == [1, 100]


def test_rows_that_came_between_plan_and_reset_are_not_taken_unseen(table: Table) -> None:
    table.write(1)
    seen = table.store.table_version(ROW.stream)
    table.execute("INSERT INTO readings VALUES (777)")
    with pytest.raises(CannotSettleError, match="changed since the plan was made"):
        table.settle(EmptyOutput(kept=KEPT), seen=seen)
    assert table.ids() == [1, 777]


def test_a_merged_table_goes_back_beside_keys_of_another_writer(dsn: str) -> None:
    table = Table(dsn, keys=("id",))
    table.write(1, 2)
    table.settle(EmptyOutput(kept=KEPT))
    table.write(2, 3)
    table.write(3)
    table.execute("INSERT INTO readings VALUES (777)")
    output = table.exchange(KEPT)
    assert output.rows == 2
    table.settle(output, batch=0)
    assert (table.ids(), table.ids("holdfast.kept_two")) == ([1, 2, 777], [2, 3])
    table.store.close()
    table.connection.close()


@pytest.mark.parametrize("revoked", ["INSERT ON holdfast.settled", "UPDATE ON holdfast.ledger"])
def test_a_role_that_cannot_write_a_repair_down_is_told_before_it(
    table: Table, dsn: str, revoked: str
) -> None:
    role = f"low_{uuid.uuid4().hex[:8]}"
    table.execute(
        f"CREATE ROLE {role} LOGIN PASSWORD 'x'; GRANT ALL ON SCHEMA holdfast TO {role};"
        f" GRANT ALL ON ALL TABLES IN SCHEMA holdfast TO {role}; GRANT ALL ON readings TO {role};"
        f" REVOKE {revoked} FROM {role}"
    )
    its_dsn = make_conninfo(dsn, user=role, password="x")
    low = PostgresLedgerStore(hf.Postgres(lambda: its_dsn, table="readings"))
    for output in (KeepOutput(), EmptyOutput(kept=KEPT)):
        assert "may not write down a repair" in (low.find_obstacle(table.row, output) or "")
    low.close()
