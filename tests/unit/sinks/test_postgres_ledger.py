"""The ledger in PostgreSQL: what is asked of the server, and what its answers mean."""

from __future__ import annotations

from dataclasses import replace

import pytest

from holdfast.ids import BatchId
from holdfast.ledger.store import Since
from holdfast.sinks.postgres.ledger import PostgresLedgerStore
from holdfast.sinks.postgres.ledger_rows import replace_row
from holdfast.sinks.postgres.ledger_tables import VERSION, LedgerTablesError, check_tables
from holdfast.sinks.postgres.look import look_under_lock
from holdfast.sinks.postgres.sink import Postgres
from holdfast.sinks.postgres.target import Target
from holdfast.sinks.postgres.writer import find_target
from tests.ledger_rows import ROW, attempt
from tests.stand_ins import stand_in
from tests.unit.sinks.answering_server import Server, tables_of

VALUES = ("readings", "gold", 1, 1, "n1", "6f0c", ROW.binding.checkpoint, -1, None, "{}")
DAYS = "100/0\n101/101 100 FOR VALUES FROM (1) TO (2)"
MORE = f"{DAYS}\n102/102 100 FOR VALUES FROM (2) TO (3)"
TARGET = Target(
    name='"public"."readings"',
    display_name="public.readings",
    storage=DAYS,
    shape="id 20 -1 0  ",
    columns=("id",),
    encoders=(),
)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """The server that every connection leads to."""
    found = Server(tables_of(VERSION))
    monkeypatch.setattr("holdfast.sinks.postgres.connect.connect", lambda _: found)
    return found


@pytest.mark.parametrize(
    ("version", "state"), [(None, "do not exist"), (VERSION - 1, f"are of version {VERSION - 1}")]
)
def test_who_may_not_change_the_tables_is_told_how_they_are(
    version: int | None, state: str
) -> None:
    server = Server({**tables_of(version), "has_database_privilege": [(False,)]})
    with pytest.raises(LedgerTablesError) as refused:
        check_tables(stand_in(server))
    assert refused.value.why == f"Its tables {state}, and this role may not change that."


def test_the_rows_of_a_table_are_counted_whatever_its_name_is() -> None:
    server = Server({"INSERT INTO holdfast.ledger": [()]})
    new = replace(ROW, last_batch=BatchId(4))
    assert replace_row(stand_in(server), None, new, target='"o\'brien"')
    ((statement, _),) = server.asked
    assert """FROM "o'brien" r WHERE r.tableoid = to_regclass('"o''brien"')""" in statement


@pytest.mark.parametrize(
    ("pinned", "new_storage", "is_changed"),
    [(DAYS, None, False), (None, DAYS, False), (MORE, DAYS, False), ("100/7", DAYS, True)],
)
def test_another_storage_is_pinned_anew_where_the_rows_are_still_there(
    pinned: str | None, new_storage: str | None, *, is_changed: bool
) -> None:
    found = (*VALUES, pinned, 100, DAYS, TARGET.shape, None, False, False)
    look = look_under_lock(
        stand_in(Server({"FOR UPDATE OF l": [found]})), TARGET, attempt(0, sink="gold")
    )
    assert look.row == replace(ROW, sink="gold")
    assert (look.new_storage, look.changed is not None) == (new_storage, is_changed)


@pytest.mark.parametrize(
    ("keys", "unclear"),
    [
        (("id",), ""),
        ((), "2 rows of this generation were updated or deleted by another session"),
    ],
)
def test_rows_that_a_later_batch_updated_are_missing_only_without_keys(
    server: Server, keys: tuple[str, ...], unclear: str
) -> None:
    server.answers |= {
        "FROM holdfast.settled": [(-1, 0, 0, 50, 2, 1, 60)],
        "FROM holdfast.history\n": [(0, 2, 51), (1, 2, 52)],
        "LEFT JOIN unnest": [(52, "", 2)],
    }
    ledger = PostgresLedgerStore(Postgres(lambda: "", table="readings", keys=keys))
    ledger.table = TARGET
    assert ledger.since("readings", generation=1) == Since(own_rows=2, unclear=unclear)


def test_a_start_finds_the_label_that_the_ledger_has_for_its_stream(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("holdfast.sinks.postgres.table.check_table", lambda *_, **__: TARGET)
    server.answers["SELECT sink FROM"] = lambda values: (
        [("gold",)] if values[:2] == ("readings", 100) else []
    )
    sink = Postgres(lambda: "", table="readings")
    assert find_target(sink, stand_in(None), "readings").ledger.label("readings") == "gold"
    assert find_target(sink, stand_in(None), "alerts").ledger.label("alerts") == "readings"
