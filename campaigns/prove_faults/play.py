"""Plays one table: untouched, with every fault of a value, and with each fault of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import SparkSession

from campaigns.prove_faults.columns import Plant
from campaigns.prove_faults.delta_columns import DELTA
from campaigns.prove_faults.faults import ROW_FAULTS, RowFault, figures, find_wrong
from campaigns.prove_faults.postgres_arrays import POSTGRES
from campaigns.prove_faults.tables import DSN, DeltaTable, PostgresTable, Table
from holdfast.proof.values import ProofVerdict
from lab import Postgres

KINDS = ("postgres, appended", "postgres, merged", "delta, appended", "delta, merged")


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """What a proof said of one fault."""

    kind: str
    fault: str
    wrong: str
    """What was missed, or raised without a reason; empty when nothing was."""


def make_table(kind: str, *, spark: SparkSession, postgres: Postgres, home: Path) -> Table:
    """Return a table, which its stream has filled."""
    sink, _, how = kind.partition(", ")
    is_merged = how == "merged"
    table: Table
    if sink == "postgres":
        dsn = postgres.create_database(f"faults_{how}_{os.urandom(4).hex()}")
        os.environ[DSN] = dsn
        table = PostgresTable(
            spark=spark,
            home=home / how / sink,
            columns=POSTGRES,
            is_merged=is_merged,
            dsn=dsn,
            name="faults",
        )
    else:
        table = DeltaTable(spark=spark, home=home / how / sink, columns=DELTA, is_merged=is_merged)
    table.fill()
    return table


def play(
    kind: str, table: Table, plants: Sequence[Plant], *, faults: Sequence[RowFault] = ROW_FAULTS
) -> Iterator[Played]:
    """Yield what a proof says: of the untouched table, of faults of values, of faults of rows."""
    yield Played(kind=kind, fault="untouched", wrong=_find_alarm(table))
    table.plant(plants)
    wrong = _find_missed(table, plants)
    table.put_back()
    for each in plants:
        alone = _find_missed_alone(table, each) if wrong else ""
        label = f"{each.column.name} {each.column.target}: {each.label}"
        yield Played(kind=kind, fault=label, wrong=alone)
    if wrong:
        yield Played(kind=kind, fault=f"all {len(plants)} at once", wrong=wrong)
    for fault in faults:
        for statement in fault.statements:
            table.run(_filled(statement, table))
        told = find_wrong(fault, table.prove(), is_merged=table.is_merged, rows=table.count)
        yield Played(kind=kind, fault=fault.label, wrong=told)
        table.put_back()
    yield Played(kind=kind, fault="put back", wrong=_find_alarm(table))


def _filled(statement: str, table: Table) -> str:
    values = {
        "{r}": str(table.count - 2),
        "{n}": str(table.count),
        "{rest}": ", ".join(each.name for each in table.columns),
    }
    for name, value in values.items():
        statement = statement.replace(name, value)
    return statement


def _find_alarm(table: Table) -> str:
    """Say what a proof says against a table that is as it was written."""
    altered = table.altered()
    assert not altered, f"the table is not as it was written: rows {sorted(altered)}"
    found = table.prove()
    if found.verdict is ProofVerdict.EXACT:
        return ""
    examples = () if found.compared is None else found.compared.examples
    return f"{found.verdict}: {found.reason} {examples[:1]}"


def _find_missed(table: Table, plants: Sequence[Plant]) -> str:
    """Say what a proof has missed of many faults, each in a row of its own."""
    planted = {each.row for each in plants}
    assert table.altered() == planted, f"not planted: {sorted(planted - table.altered())}"
    found, count = table.prove(), len(plants)
    if found.verdict is not ProofVerdict.NOT_EXACT:
        return f"{found.verdict}: {found.reason}"
    # Without a key, an altered row is one that is lost and one that is unexpected.
    wanted = (0, 0, count, 0) if table.is_merged else (count, 0, 0, count)
    return "" if figures(found) == wanted else f"counted {figures(found)} instead of {wanted}"


def _find_missed_alone(table: Table, plant: Plant) -> str:
    table.plant([plant])
    try:
        return _find_missed(table, [plant])
    finally:
        table.put_back()
