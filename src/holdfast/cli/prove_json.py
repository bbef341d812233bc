"""`holdfast prove --format json`: the same answer for programs.

The schema is committed as docs/reference/prove.schema.json.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast.cli.prove_lines import not_compared, shown_row
from holdfast.proof.values import CounterExample, Proof, TableProof
from holdfast.report.envelope import Answer, fill, render


class CounterExampleJson(msgspec.Struct):
    """One row that is not as it must be."""

    fault: str
    expected: str | None
    """The row as it must be, long values cut; None when there must be none."""
    found: str | None
    expected_copies: int
    found_copies: int


class TableProofJson(msgspec.Struct, kw_only=True):
    """One table."""

    stream: str
    table: str
    verdict: str
    last_batch: int | None
    """The last batch that the proof covers; None when it is not known."""
    by: tuple[str, ...]
    """The columns that name a row."""
    keys: tuple[str, ...]
    sequence_by: str | None
    expected: int | None = None
    """How many rows it must hold; None when it was not compared. So are the next ones."""
    found: int | None = None
    lost: int | None = None
    duplicated: int | None = None
    altered: int | None = None
    unexpected: int | None = None
    examples: tuple[CounterExampleJson, ...]
    next_step: str | None = None
    """What to do about it, with the command; None when there is nothing to do."""


class NotComparedJson(msgspec.Struct):
    """Something that was not compared."""

    table: str
    reason: str


class ProofJson(Answer, kw_only=True, tag_field="format", tag="holdfast.prove"):
    """What `holdfast prove` found."""

    version: int = 2
    pipeline: str
    tables: tuple[TableProofJson, ...]
    not_compared: tuple[NotComparedJson, ...]


def proof_json(proof: Proof) -> str:
    """Return the text to print."""
    left_out = (NotComparedJson(table=table, reason=why) for table, why in not_compared(proof))
    tables = tuple(map(_table, proof.tables))
    not_there = tuple(left_out)
    return render(fill(ProofJson, proof, version=2, tables=tables, not_compared=not_there))


def _table(table: TableProof) -> TableProofJson:
    counted = table.compared
    names = ("stream", "table", "verdict", "last_batch", "by", "keys", "sequence_by")
    return fill(
        TableProofJson,
        counted,
        **{name: getattr(table, name) for name in names},
        examples=() if counted is None else tuple(map(_example, counted.examples)),
        next_step=table.next_step or None,
    )


def _example(example: CounterExample) -> CounterExampleJson:
    return fill(
        CounterExampleJson, example, expected=_row(example.expected), found=_row(example.found)
    )


def _row(row: Mapping[str, object] | None) -> str | None:
    return None if row is None else shown_row(row)
