"""Which staged tables can never be committed any more, and how they are dropped."""

from __future__ import annotations

import psycopg
import pytest
from psycopg import errors

from holdfast.sinks.postgres.failures import ServerRefusedError
from holdfast.sinks.postgres.parts import drop_tables, is_dead, stage_prefix
from tests.stand_ins import stand_in
from tests.unit.sinks.answering_server import Server


@pytest.mark.parametrize(
    ("epoch", "batch", "dead"),
    [(2, 9, True), (3, 4, True), (3, 5, True), (3, 6, False), (4, 0, False)],
)
def test_only_older_epochs_and_batches_that_have_arrived_are_dead(
    epoch: int, batch: int, dead: bool
) -> None:
    name = f"{stage_prefix('readings', 'readings')}_{epoch}_{batch}_0_17"
    assert is_dead(name, epoch=3, batch=5) is dead


def test_names_of_two_streams_differ_and_fit() -> None:
    assert stage_prefix("a", "b") != stage_prefix("a/b", "")
    assert len(f"{stage_prefix('a' * 63, 'b' * 200)}_2097151_999999999999_99999_9999999") <= 63


def test_names_are_those_of_earlier_versions_whose_tables_are_dropped_too() -> None:
    assert stage_prefix("readings", "gold") == "hc06a6046015c"


def failing(error: psycopg.Error) -> Server:
    def fail(_: object) -> list[tuple[object, ...]]:
        raise error

    return Server({'"lost"': fail})


def dropped(server: Server) -> list[str]:
    drop_tables(stand_in(server), ["first", "lost", "last"])
    return [text.rpartition(".")[2] for text, _ in server.asked if "DROP" in text]


def test_a_table_in_use_stays_and_a_lost_connection_ends_it() -> None:
    in_use = failing(errors.LockNotAvailable())
    assert dropped(in_use) == ['"first"', '"lost"', '"last"']
    assert dropped(failing(psycopg.OperationalError())) == ['"first"', '"lost"']
    with pytest.raises(ServerRefusedError, match="53100"):
        dropped(failing(errors.DiskFull()))
