"""Cases of a rule as data: what is known of a stream in TOML, and what the rule finds in it.

    [[case]]
    name = "the sink was restored from a backup"
    planned = 4                            # the newest entry of offsets/
    committed = 4                          # the newest entry of commits/
    sinks = [{ row = { last_batch = 2 } }]
    finds = [{ says = ["Batches 3 to 4 are missing"], accepted_batch = 4 }]

    [[case]]
    name = "nothing is missing"
    planned = 4
    committed = 4
    sinks = [{ row = { last_batch = 4 } }]
    finds = []

A rule is judged alone, so that a new rule changes no other rule's cases. A key that is not known
here is an error: a misspelt one would make a case that shows nothing.
"""

from __future__ import annotations

import pickle
import tomllib
from collections.abc import Iterator

import msgspec

from holdfast.checkpoint import read_checkpoint
from holdfast.evidence.outcomes import Refuses
from holdfast.evidence.refusal_codes import RefusalCode
from holdfast.evidence.stream import SinkEvidence, StreamEvidence
from holdfast.ids import BatchId, QueryId
from holdfast.ledger.coverage import Coverage
from holdfast.ledger.row import Binding, LedgerRow
from holdfast.ledger.store import Unreadable
from holdfast.record.generations import ADOPTED, OPENED, Generation
from holdfast.rules import Finding, Rule
from holdfast.storage.memory import MemoryStorage

STREAM = "readings"
CHECKPOINT = "s3://lake/streams/readings"
QUERY_ID = "6f0c0000-0000-4000-8000-000000000000"
_ENTRY = b'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}\n5'


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file."""


class RowCase(_Part, frozen=True, kw_only=True):
    """The sink's ledger row."""

    last_batch: int
    generation: int = 1
    query_id: str = QUERY_ID
    checkpoint: str = CHECKPOINT
    digest: str | None = None
    """By default that of the checkpoint's own entry."""


class SinkCase(_Part, frozen=True, kw_only=True):
    """What one sink holds."""

    name: str = "public.readings"
    row: RowCase | None = None
    contradicts: str | None = None
    native_batch: int | None = None
    is_added: bool = False
    unreadable: str | None = None
    """Why its ledger cannot be read."""
    forgotten_epoch: int = 0


class ExpectedFinding(_Part, frozen=True, kw_only=True):
    """A finding: what it must say, and what accepting it writes into the ledger row."""

    says: tuple[str, ...]
    accepting: str = ""
    accepted_batch: int | None = None
    sink: str | None = "public.readings"
    """With an empty name, one that is about the query."""


class RefusedQuery(_Part, frozen=True, kw_only=True):
    """What Spark will say of the query that is to be started."""

    code: RefusalCode = RefusalCode.QUERY_CHANGED
    error: str
    because: str
    follows_from: tuple[str, ...]


class RuleCase(_Part, frozen=True, kw_only=True):
    """What is known of a stream, and what a rule finds in it."""

    name: str
    finds: tuple[ExpectedFinding, ...]
    planned: int = -1
    committed: int = -1
    generation: int = 1
    adopted_at: int | None = None
    """The first batch under guard of a checkpoint that was adopted."""
    sources: tuple[str, ...] = ()
    """What the query reads, as Spark names it."""
    sources_before: tuple[str, ...] | None = None
    query_refused: RefusedQuery | None = None
    sinks: tuple[SinkCase, ...] = (SinkCase(),)


class _File(_Part, frozen=True, kw_only=True):
    case: tuple[RuleCase, ...]


def read_cases(text: str) -> tuple[RuleCase, ...]:
    """Return the cases of a file.

    Raises:
        ValueError: It is not TOML, or not of this form.
    """
    return msgspec.convert(tomllib.loads(text), type=_File).case


def make_evidence(case: RuleCase) -> StreamEvidence:
    """Return what is known of the stream of a case."""
    files = {"metadata": msgspec.json.encode({"id": QUERY_ID})}
    files |= {f"offsets/{batch}": _ENTRY for batch in range(case.planned + 1)}
    files |= {f"commits/{batch}": b"v1\n{}" for batch in range(case.committed + 1)}
    refused = case.query_refused
    return StreamEvidence(
        stream=STREAM,
        generation=Generation(
            number=case.generation,
            checkpoint=CHECKPOINT,
            query_id=QUERY_ID,
            first_batch=case.adopted_at or 0,
            why=OPENED if case.adopted_at is None else ADOPTED,
            opened_at="2026-11-15T06:00:00+00:00",
        ),
        checkpoint=read_checkpoint(MemoryStorage(files)),
        binding=Binding(query_id=QueryId(QUERY_ID), checkpoint=CHECKPOINT),
        sinks=tuple(_sink_evidence(sink, case) for sink in case.sinks),
        sources=case.sources,
        sources_before=case.sources_before,
        query_refused=None if refused is None else Refuses(**msgspec.structs.asdict(refused)),
    )


def find_differences(rule: Rule, case: RuleCase) -> list[str]:
    """Return how the findings of a rule differ from those that a case expects; empty if equal.

    Findings and evidence are also pickled: rules must be able to run in another process.
    """
    evidence = make_evidence(case)
    found = tuple(rule.judge(evidence))
    again = tuple(rule.judge(pickle.loads(pickle.dumps(evidence))))  # noqa: S301 - made here
    if pickle.loads(pickle.dumps(found)) != again:  # noqa: S301 - made here
        return ["after pickling, the findings are others"]
    if len(found) != len(case.finds):
        return [f"{len(case.finds)} findings are expected, found: {[str(each) for each in found]}"]
    return [
        f"{each.code}: {difference}"
        for each, expected in zip(found, case.finds, strict=True)
        for difference in _compare(rule, each, expected)
    ]


def _compare(rule: Rule, found: Finding, expected: ExpectedFinding) -> Iterator[str]:
    said = f"{found.what} {found.how}"
    if found.code != rule.code or found.name != rule.name:
        yield f"it is called {found.code} {found.name}"
    yield from (f"{words!r} is not in {said!r}" for words in expected.says if words not in said)
    if expected.accepting not in found.accepting or not found.accepting:
        yield f"accepting says {found.accepting!r}, not {expected.accepting!r}"
    if found.accepted_batch != expected.accepted_batch:
        yield f"accepted, the row says {found.accepted_batch}, not {expected.accepted_batch}"
    if found.sink != (expected.sink or None):
        yield f"it is about {found.sink}, not {expected.sink}"
    if not found.follows_from:
        yield "it names nothing that it follows from"
    if not found.how.endswith("."):
        yield f"what to do is no sentence: {found.how!r}"


def _sink_evidence(sink: SinkCase, case: RuleCase) -> SinkEvidence:
    row, held = sink.row, None
    if row is not None and 0 <= row.last_batch <= case.planned:
        held = Coverage(
            batch_id=BatchId(row.last_batch),
            start_offsets="",
            end_offsets="",
            digest=f"d{row.last_batch}",
        )
    return SinkEvidence(
        sink=sink.name,
        shown=f"the PostgreSQL table {sink.name}",
        row=None if row is None else _ledger_row(row, sink),
        held=held,
        contradicts=sink.contradicts,
        native_batch=sink.native_batch,
        is_added=sink.is_added,
        unreadable=None if sink.unreadable is None else Unreadable(sink.unreadable),
        forgotten_epoch=sink.forgotten_epoch,
    )


def _ledger_row(row: RowCase, sink: SinkCase) -> LedgerRow:
    return LedgerRow(
        stream=STREAM,
        sink=sink.name,
        generation=row.generation,
        epoch=8,
        nonce="n8",
        binding=Binding(query_id=QueryId(row.query_id), checkpoint=row.checkpoint),
        last_batch=BatchId(row.last_batch),
        digest=row.digest or (None if row.last_batch < 0 else f"d{row.last_batch}"),
        end_offsets="{}",
    )
