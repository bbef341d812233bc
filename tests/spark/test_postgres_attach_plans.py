"""A table with attached batches: what plans do to it, and commits whose answer is lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from holdfast.ledger import Apply, Skip
from holdfast.ledger.output import (
    CannotSettleError,
    EmptyOutput,
    ExchangeOutput,
    RestoreOutput,
)
from holdfast.ledger.row import NO_BATCH, LedgerRow
from holdfast.sinks.postgres import part_task
from holdfast.sinks.postgres.ledger import PostgresLedgerStore
from holdfast.sinks.postgres.parallel_writer import ParallelWriter
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from holdfast.sinks.postgres.writer import Found
from lab import Postgres
from lab.faults.tcp_proxy import TcpProxy
from tests.attached_parts import PARTITIONS, WAITING, Parted, record_batch, stage_here
from tests.ledger_rows import attempt
from tests.stand_ins import stand_in

KEPT, ASIDE = "holdfast.kept_one", "holdfast.kept_two"


@pytest.fixture
def parted(database: str) -> Iterator[Parted]:
    found = Parted(database)
    yield found
    found.connection.close()


@pytest.fixture
def store(parted: Parted) -> Iterator[PostgresLedgerStore]:
    """As a plan opens it, from a contract, which does not know of `parallel`."""
    found = PostgresLedgerStore(PostgresSink(lambda: parted.dsn, table="readings"))
    yield found
    found.close()


def row_of(store: PostgresLedgerStore) -> LedgerRow:
    found = store.read("readings")
    assert isinstance(found, LedgerRow)
    return found


def next_row(store: PostgresLedgerStore, **changes: Any) -> LedgerRow:
    old = row_of(store)
    number = old.generation + 1
    return replace(old, generation=number, epoch=number, nonce=f"n{number}", **changes)


def test_a_reset_empties_the_table_and_an_undo_brings_all_rows_back(
    parted: Parted, store: PostgresLedgerStore
) -> None:
    assert parted.write(parted.copy(1, 2), parted.copy(3)) == Apply()
    new = next_row(store, last_batch=NO_BATCH, digest=None, end_offsets="{}")
    output = EmptyOutput(kept=KEPT)
    assert store.find_obstacle(new, output) is None
    assert store.settle(row_of(store), new, output)
    assert parted.ids == Counter()
    now: dict[str, Any] = {"generation": 2, "epoch": 2, "nonce": "n2"}
    assert parted.write(parted.copy(7, **now), **now) == Apply()
    assert parted.ids == Counter([7])
    back = RestoreOutput(kept=KEPT, aside=ASIDE)
    assert store.find_obstacle(next_row(store), back) is None
    assert store.settle(row_of(store), next_row(store), back)
    assert parted.ids == Counter([1, 2, 3])
    last: dict[str, Any] = {"generation": 3, "epoch": 3, "nonce": "n3"}
    assert parted.write(parted.copy(8, number=1, **last), number=1, **last) == Apply()
    assert parted.ids == Counter([1, 2, 3, 8])


def test_rows_of_partitions_that_are_gone_are_not_put_back(
    parted: Parted, store: PostgresLedgerStore
) -> None:
    assert parted.write(parted.copy(1, 2), parted.copy(3)) == Apply()
    assert store.settle(row_of(store), next_row(store), EmptyOutput(kept=KEPT))
    parted.connection.execute(f"DROP TABLE {parted.names(PARTITIONS)[0]}".encode())
    back = RestoreOutput(kept=KEPT, aside=ASIDE)
    obstacle = store.find_obstacle(next_row(store), back)
    assert obstacle == "1 partitions of public.readings, to which kept rows belong, are gone."


def test_an_undo_of_one_generation_is_refused_by_name(
    parted: Parted, store: PostgresLedgerStore
) -> None:
    """A row has the transaction of its task, and the history that of the driver."""
    assert parted.write(parted.copy(1)) == Apply()
    assert store.settle(row_of(store), next_row(store), EmptyOutput(kept=KEPT))
    exchange = ExchangeOutput(generation=2, kept=None, aside=ASIDE, rows=None)
    obstacle = store.find_obstacle(next_row(store), exchange)
    assert obstacle is not None
    assert "attached partitions (parallel=)" in obstacle
    with pytest.raises(CannotSettleError, match="attached partitions"):
        store.settle(row_of(store), next_row(store), exchange)


def test_a_start_finds_nothing_wrong_and_sees_an_emptied_partition(
    parted: Parted, store: PostgresLedgerStore
) -> None:
    for number in range(3):
        assert parted.write(parted.copy(number, number=number), number=number) == Apply()
    assert store.examine(row_of(store)) is None
    newest = parted.names(PARTITIONS)[-1]
    value = f"(SELECT holdfast_part FROM {newest} LIMIT 1)"
    parted.connection.execute(
        f"CREATE TABLE taken AS SELECT 77::bigint AS id, {value} AS holdfast_part;"
        f" TRUNCATE {newest}; INSERT INTO readings SELECT * FROM taken".encode()
    )
    found = store.examine(row_of(store))
    assert found is not None
    assert "none of the rows that Holdfast remembers" in found


@pytest.fixture
def proxy(postgres: Postgres) -> Iterator[TcpProxy]:
    with TcpProxy(postgres.port) as running:
        yield running


@pytest.fixture
def writer(
    parted: Parted, *, postgres: Postgres, proxy: TcpProxy, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ParallelWriter]:
    """A driver behind a proxy; its tasks reach the server directly."""
    monkeypatch.setattr(part_task, "stage_in_tasks", partial(stage_here, dsn=parted.dsn))
    through = parted.dsn.replace(f"port={postgres.port}", f"port={proxy.port}")
    sink = PostgresSink(lambda: through, table="readings", parallel=2)
    ledger = PostgresLedgerStore(sink)
    ledger.table = parted.target
    found = Found(ledger=ledger, target=parted.target, identity="")
    opened = ParallelWriter(sink, found=found, spark=None, stream="readings")
    yield opened
    opened.close()


def batch(number: int) -> Any:
    return stand_in([record_batch([2 * number]), record_batch([2 * number + 1])])


def test_a_commit_that_landed_is_recognised_and_nothing_is_duplicated(
    proxy: TcpProxy, writer: ParallelWriter, parted: Parted
) -> None:
    for number in range(5):
        swallowed = proxy.at(b"COMMIT", "swallow")
        assert writer.write(attempt(number), batch(number)) == Skip()
        swallowed.wait()
    assert parted.ids == Counter(range(10))
    assert parted.names(WAITING) == []


@pytest.mark.parametrize("request_", [b"COMMIT", b"ATTACH", b"LOCK TABLE"])
def test_what_did_not_land_is_written_again_once_the_ledger_has_said_so(
    proxy: TcpProxy, writer: ParallelWriter, *, parted: Parted, request_: bytes
) -> None:
    cut = proxy.at(request_, "cut")
    assert writer.write(attempt(0), batch(0)) == Apply()
    cut.wait()
    assert parted.ids == Counter(range(2))
    assert parted.names(WAITING) == []
    assert row_of(writer.ledger).last_batch == 0


def test_a_driver_that_is_stopped_attaches_nothing(parted: Parted, writer: ParallelWriter) -> None:
    class Stopped(Exception):  # noqa: N818 - stands for the guard's own
        pass

    def stop(rows: int) -> None:
        if rows:
            raise Stopped

    with pytest.raises(Stopped):
        writer.write(attempt(0), batch(0), before_commit=stop)
    assert parted.ids == Counter()
    assert writer.write(attempt(0), batch(0)) == Apply()
    assert (parted.ids, parted.names(WAITING)) == (Counter(range(2)), [])
