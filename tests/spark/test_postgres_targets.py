"""Which relations of a real PostgreSQL may be a target, and what every batch sees of one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from holdfast.ids import BatchId
from holdfast.ledger import Apply
from holdfast.sinks.failures import TableError
from holdfast.sinks.postgres.examine import examine
from holdfast.sinks.postgres.failures import DroppedRowsError
from holdfast.sinks.postgres.ledger_rows import find_identity, find_label, read_row, replace_row
from holdfast.sinks.postgres.ledger_tables import ensure_tables
from holdfast.sinks.postgres.storage import table_oid
from holdfast.sinks.postgres.table import check_table
from holdfast.sinks.postgres.write import write_batch
from holdfast.sinks.table_changed import TableChangedError
from tests.ledger_rows import ROW, attempt

Connection = psycopg.Connection[Any]
SCHEMA = pa.schema([("id", pa.int64()), ("v", pa.int64())])
PARTITIONED = """\
CREATE TABLE readings (id bigint, v bigint) PARTITION BY RANGE (id);
CREATE TABLE low PARTITION OF readings FOR VALUES FROM (0) TO (100);
CREATE TABLE high PARTITION OF readings FOR VALUES FROM (100) TO (200);"""


def rows(*ids: int) -> Any:
    numbers = pa.array(ids, pa.int64())
    return pa.record_batch([numbers, numbers], schema=SCHEMA)


@pytest.fixture
def connection(database: str) -> Iterator[Connection]:
    with psycopg.connect(database, autocommit=True) as connection:
        ensure_tables(connection)
        yield connection


def opened(connection: Connection, made: str, **keyed: Any) -> Any:
    """Make a table, open a ledger row for it, and return it as a start finds it."""
    connection.execute(made.encode())
    assert replace_row(connection, None, ROW, target="readings")
    return check_table(connection, "readings", SCHEMA, **keyed)


def content(connection: Connection) -> Counter[int]:
    return Counter(row[0] for row in connection.execute("SELECT id FROM readings"))


REFUSED = {
    "a view": ("CREATE TABLE t (id bigint, v bigint); CREATE VIEW readings AS TABLE t", "a view"),
    "a materialised view": (
        "CREATE TABLE t (id bigint, v bigint); CREATE MATERIALIZED VIEW readings AS TABLE t",
        "a materialised view",
    ),
    "a sequence": ("CREATE SEQUENCE readings", "not a table"),
    "an unlogged table": ("CREATE UNLOGGED TABLE readings (id bigint, v bigint)", "UNLOGGED"),
    "a temporary table": ("CREATE TEMP TABLE readings (id bigint, v bigint)", "temporary"),
    "an unlogged partition": (
        PARTITIONED.replace("CREATE TABLE low", "CREATE UNLOGGED TABLE low"),
        "partitions is foreign, UNLOGGED",
    ),
    "a foreign table": (
        "CREATE EXTENSION postgres_fdw; CREATE SERVER there FOREIGN DATA WRAPPER postgres_fdw;"
        "CREATE FOREIGN TABLE readings (id bigint, v bigint) SERVER there",
        "a foreign table",
    ),
    "a foreign partition": (
        "CREATE EXTENSION postgres_fdw; CREATE SERVER there FOREIGN DATA WRAPPER postgres_fdw;"
        "CREATE TABLE readings (id bigint, v bigint) PARTITION BY RANGE (id);"
        "CREATE FOREIGN TABLE p PARTITION OF readings DEFAULT SERVER there",
        "partitions is foreign",
    ),
}


@pytest.mark.parametrize(("made", "said"), REFUSED.values(), ids=list(REFUSED))
def test_what_does_not_keep_rows_and_ledger_in_one_step_is_refused(
    connection: Connection, made: str, said: str
) -> None:
    connection.execute(made.encode())
    with pytest.raises(TableError, match=said):
        check_table(connection, "readings", SCHEMA)


def test_row_level_security_is_refused_before_the_first_batch(connection: Connection) -> None:
    connection.execute("CREATE TABLE readings (id bigint, v bigint)")
    connection.execute("ALTER TABLE readings ENABLE ROW LEVEL SECURITY")
    check_table(connection, "readings", SCHEMA)  # it does not hold for its owner
    connection.execute("ALTER TABLE readings FORCE ROW LEVEL SECURITY")
    connection.execute("CREATE ROLE low_role_rls; GRANT ALL ON readings TO low_role_rls")
    try:
        connection.execute("SET ROLE low_role_rls")
        with pytest.raises(TableError, match="row-level security"):
            check_table(connection, "readings", SCHEMA)
    finally:
        connection.execute("RESET ROLE; DROP OWNED BY low_role_rls; DROP ROLE low_role_rls")


MERGES = {
    "an identity": (
        "CREATE TABLE readings (id bigint PRIMARY KEY, v bigint GENERATED ALWAYS AS IDENTITY)",
        "IDENTITY",
    ),
    "a rule": (
        "CREATE TABLE readings (id bigint PRIMARY KEY, v bigint);"
        "CREATE RULE r AS ON INSERT TO readings DO INSTEAD NOTHING",
        "rules",
    ),
}


@pytest.mark.parametrize(("made", "said"), MERGES.values(), ids=list(MERGES))
def test_what_only_a_merge_stumbles_over_is_refused_for_a_merge(
    connection: Connection, made: str, said: str
) -> None:
    target = opened(connection, made)
    write_batch(connection, target, attempt(0), batches=[rows(1, 2)])
    assert content(connection) == Counter([1, 2]), "COPY sets identities and ignores rules"
    with pytest.raises(TableError, match=said):
        check_table(connection, "readings", SCHEMA, keys=["id"])


DROPPING = """\
CREATE FUNCTION drop_even() RETURNS trigger LANGUAGE plpgsql AS
$$BEGIN IF NEW.id % 2 = 0 THEN RETURN NULL; END IF; RETURN NEW; END$$;
CREATE TRIGGER t BEFORE INSERT ON readings FOR EACH ROW EXECUTE FUNCTION drop_even()"""


@pytest.mark.parametrize("keys", [(), ("id",)], ids=["append", "merge"])
@pytest.mark.parametrize("place", ["readings", "low"])
def test_a_trigger_that_drops_rows_is_noticed(
    connection: Connection, place: str, keys: tuple[str, ...]
) -> None:
    made = PARTITIONED + "CREATE UNIQUE INDEX ON readings (id)"
    target = opened(connection, made, keys=keys)
    write_batch(connection, target, attempt(0), batches=[rows(2)])
    connection.execute(DROPPING.replace("ON readings", f"ON {place}").encode())
    with pytest.raises(DroppedRowsError, match="dropped 1 of"):
        write_batch(connection, target, attempt(1), batches=[rows(3, 4)])
    assert content(connection) == Counter([2])
    write_batch(connection, target, attempt(1), batches=[rows(3, 5)])
    assert content(connection) == Counter([2, 3, 5])


@pytest.mark.parametrize("order", [None, "v"])
def test_a_trigger_that_drops_updates_is_noticed(connection: Connection, order: str | None) -> None:
    made = "CREATE TABLE readings (id bigint PRIMARY KEY, v bigint)"
    target = opened(connection, made, keys=["id"], sequence_by=order)
    write_batch(connection, target, attempt(0), batches=[rows(1, 2)])
    connection.execute(DROPPING.replace("BEFORE INSERT", "BEFORE UPDATE").encode())
    newer = pa.record_batch([pa.array([1, 2]), pa.array([8, 9])], schema=SCHEMA)
    with pytest.raises(DroppedRowsError, match="dropped 1 of"):
        write_batch(connection, target, attempt(1), batches=[newer])
    found = connection.execute("SELECT id, v FROM readings ORDER BY id").fetchall()
    assert found == [(1, 1), (2, 2)]
    if order:
        older = pa.record_batch([pa.array([2]), pa.array([0])], schema=SCHEMA)
        write_batch(connection, target, attempt(1), batches=[older])


def test_a_partition_may_come_and_go_and_none_may_be_replaced(connection: Connection) -> None:
    target = opened(connection, PARTITIONED)
    write_batch(connection, target, attempt(0), batches=[rows(1, 101)])
    connection.execute("CREATE TABLE top PARTITION OF readings FOR VALUES FROM (200) TO (300)")
    write_batch(connection, target, attempt(1), batches=[rows(201)])
    connection.execute("DROP TABLE low")
    write_batch(connection, target, attempt(2), batches=[rows(102)])
    connection.execute("DROP TABLE high")
    connection.execute("CREATE TABLE high PARTITION OF readings FOR VALUES FROM (100) TO (200)")
    with pytest.raises(TableChangedError, match="was replaced"):
        write_batch(connection, target, attempt(3), batches=[rows(103)])
    assert content(connection) == Counter([201])
    row = read_row(connection, "readings", "readings")
    assert row is not None
    assert "was replaced" in (examine(connection, row, target) or "")


def test_a_table_of_the_same_name_elsewhere_in_the_search_path_gets_nothing(
    connection: Connection,
) -> None:
    target = opened(connection, "CREATE TABLE readings (id bigint, v bigint)")
    write_batch(connection, target, attempt(0), batches=[rows(1)])
    connection.execute('CREATE SCHEMA "postgres"')
    connection.execute('CREATE TABLE "postgres".readings (id bigint, v bigint)')
    write_batch(connection, target, attempt(1), batches=[rows(2)])
    assert connection.execute("SELECT id FROM public.readings").fetchall() == [(1,), (2,)]
    other = check_table(connection, "readings", SCHEMA)
    assert (target.display_name, other.display_name) == ("public.readings", "postgres.readings")
    row = read_row(connection, "readings", "readings")
    assert row is not None
    assert "its rows went into public.readings" in (examine(connection, row, other) or "")


def test_a_batch_that_went_into_another_table_is_rolled_back(
    connection: Connection, database: str
) -> None:
    """Renaming a schema takes no lock on its tables: the name can change during a batch."""
    connection.execute("CREATE SCHEMA live; CREATE SCHEMA next")
    for schema in ("live", "next"):
        made = f"CREATE TABLE {schema}.readings (id bigint PRIMARY KEY, v bigint)"
        connection.execute(made.encode())
    assert replace_row(connection, None, ROW, target="live.readings")
    target = check_table(connection, "live.readings", SCHEMA, keys=["id"])

    def swapping() -> Iterator[Any]:
        yield rows(1)
        with psycopg.connect(database, autocommit=True) as other:
            other.execute("ALTER SCHEMA live RENAME TO old; ALTER SCHEMA next RENAME TO live")
        yield rows(2)

    with pytest.raises(TableChangedError, match="stands for another table"):
        write_batch(connection, target, attempt(0), batches=swapping())
    for schema in ("old", "live"):
        assert connection.execute(f"SELECT id FROM {schema}.readings".encode()).fetchall() == []


def test_rows_that_were_there_when_a_row_was_accepted_must_stay(connection: Connection) -> None:
    target = opened(connection, "CREATE TABLE readings (id bigint, v bigint)")
    connection.execute("INSERT INTO readings SELECT i, i FROM generate_series(1, 50) i")
    held = replace(ROW, epoch=2, nonce="n2", last_batch=BatchId(7), digest="d7")
    assert replace_row(connection, ROW, held, target="readings")
    connection.execute("VACUUM FULL readings")
    assert examine(connection, held, target) is None
    connection.execute("TRUNCATE readings")
    assert "50 were written" in (examine(connection, held, target) or "")


def test_a_sink_is_its_table_however_it_is_named(connection: Connection) -> None:
    target = opened(connection, "CREATE TABLE readings (id bigint, v bigint)")
    oid = table_oid(target.storage)
    same = check_table(connection, "public.readings", SCHEMA)
    assert find_identity(connection, table_oid(same.storage)) == find_identity(connection, oid)
    assert find_label(connection, "readings", oid, name="public.readings") == "readings"
    assert find_label(connection, "other", oid, name="readings") is None
    assert replace_row(connection, None, replace(ROW, sink="mine"), target="readings")
    assert find_label(connection, "readings", oid, name="mine") == "mine"


def test_a_rewrite_after_a_reset_is_no_contradiction(connection: Connection) -> None:
    target = opened(connection, "CREATE TABLE readings (id bigint, v bigint)")
    write_batch(connection, target, attempt(0), batches=[rows(1, 2, 3)])
    connection.execute("TRUNCATE readings")
    held = read_row(connection, "readings", "readings")
    assert held is not None
    later: dict[str, Any] = {"epoch": 2, "nonce": "n2"}
    assert replace_row(connection, held, replace(ROW, **later), target="readings")
    again = write_batch(connection, target, attempt(0, **later), batches=[rows(1)])
    assert again.decision == Apply()
    connection.execute("VACUUM FULL readings")
    assert examine(connection, ROW, target) is None


@pytest.mark.parametrize("name", ["per%s", 'we"ird', "semi;colon", "x y", "ünï", "a" * 63])
def test_any_name_of_a_table_can_be_examined(connection: Connection, name: str) -> None:
    quoted = '"' + name.replace('"', '""') + '"'
    connection.execute(f"CREATE TABLE {quoted} (id bigint, v bigint)".encode())
    assert replace_row(connection, None, ROW, target=quoted)
    target = check_table(connection, name, SCHEMA)
    write_batch(connection, target, attempt(0), batches=[rows(1)])
    assert examine(connection, ROW, target) is None
    connection.execute(f"TRUNCATE {quoted}".encode())
    assert "was truncated" in (examine(connection, ROW, target) or "")


def test_a_ledger_of_the_version_before_is_upgraded_with_what_it_has_counted(
    connection: Connection,
) -> None:
    target = opened(connection, "CREATE TABLE readings (id bigint, v bigint)")
    write_batch(connection, target, attempt(0), batches=[rows(1, 2)])
    connection.execute("ALTER TABLE holdfast.ledger DROP COLUMN brought")
    connection.execute("UPDATE holdfast.version SET version = 1")
    ensure_tables(connection)
    assert connection.execute("SELECT brought FROM holdfast.ledger").fetchall() == [(2,)]
    connection.execute("DELETE FROM readings")
    assert "2 rows were written" in (examine(connection, ROW, target) or "")


def test_a_ledger_of_version_2_is_upgraded_and_what_it_does_not_remember_is_no_alarm(
    connection: Connection,
) -> None:
    target = opened(connection, "CREATE TABLE readings (id bigint, v bigint)")
    write_batch(connection, target, attempt(0), batches=[rows(1, 2)])
    connection.execute("ALTER TABLE holdfast.ledger DROP COLUMN witness")
    connection.execute("UPDATE holdfast.version SET version = 2")
    connection.execute("ALTER TABLE readings ADD COLUMN u uuid DEFAULT gen_random_uuid()")
    assert examine(connection, ROW, target) is None, "before the upgrade"
    ensure_tables(connection)
    assert examine(connection, ROW, target) is None
    assert connection.execute("SELECT witness FROM holdfast.ledger").fetchall() == [(None,)]
