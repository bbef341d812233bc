"""The form `json-v1` of `holdfast prove`: its fields, from which the schema is made.

Within a version fields are added, never renamed or removed. The schema is committed as
docs/reference/prove.schema.json.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from holdfast.cli.prove_lines import not_compared, shown_row
from holdfast.proof.values import CounterExample, Proof, TableProof
from holdfast.redact import redact

FORMAT = "holdfast.prove/json-v1"


class CounterExampleJson(msgspec.Struct, rename="camel"):
    """One row that is not as it must be."""

    fault: str
    expected: str | None
    """The row as it must be, long values cut; None when there must be none."""
    found: str | None
    expected_copies: int
    found_copies: int


class TableProofJson(msgspec.Struct, rename="camel"):
    """One table."""

    stream: str
    table: str
    verdict: str
    last_batch: int | None
    """The last batch that the proof covers; None when it is not known."""
    compared_by: tuple[str, ...]
    keys: tuple[str, ...]
    sequence_by: str | None
    expected: int | None
    """How many rows it must hold; None when it was not compared. So are the next ones."""
    found: int | None
    lost: int | None
    duplicated: int | None
    altered: int | None
    unexpected: int | None
    examples: tuple[CounterExampleJson, ...]
    next_step: str | None = None
    """What to do about it, with the command; None when there is nothing to do."""


class NotComparedJson(msgspec.Struct, rename="camel"):
    """Something that was not compared."""

    table: str
    reason: str


class ProofJson(msgspec.Struct, rename="camel"):
    """The answer."""

    format: str
    version: int
    pipeline: str
    verdict: str
    tables: tuple[TableProofJson, ...]
    not_compared: tuple[NotComparedJson, ...]


def proof_json(proof: Proof) -> bytes:
    """Return the answer as JSON."""
    answer = ProofJson(
        format=FORMAT,
        version=1,
        pipeline=proof.pipeline,
        verdict=proof.verdict.value,
        tables=tuple(map(_table, proof.tables)),
        not_compared=tuple(
            NotComparedJson(table=redact(table), reason=redact(reason))
            for table, reason in not_compared(proof)
        ),
    )
    return msgspec.json.format(msgspec.json.encode(answer), indent=2)


def _table(table: TableProof) -> TableProofJson:
    compared = table.compared
    return TableProofJson(
        stream=table.stream,
        table=redact(table.table),
        verdict=table.verdict.value,
        last_batch=table.last_batch,
        compared_by=table.by,
        keys=table.keys,
        sequence_by=table.sequence_by,
        expected=None if compared is None else compared.expected,
        found=None if compared is None else compared.found,
        lost=None if compared is None else compared.lost,
        duplicated=None if compared is None else compared.duplicated,
        altered=None if compared is None else compared.altered,
        unexpected=None if compared is None else compared.unexpected,
        examples=tuple(map(_example, compared.examples)) if compared is not None else (),
        next_step=redact(table.next_step) or None,
    )


def _example(example: CounterExample) -> CounterExampleJson:
    return CounterExampleJson(
        fault=example.fault.value,
        expected=_row(example.expected),
        found=_row(example.found),
        expected_copies=example.expected_copies,
        found_copies=example.found_copies,
    )


def _row(row: Mapping[str, Any] | None) -> str | None:
    return None if row is None else redact(shown_row(row))
