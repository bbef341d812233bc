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
from collections.abc import Iterable, Iterator
from datetime import timedelta

import msgspec
from msgspec.structs import replace

from holdfast.checkpoint import read_checkpoint
from holdfast.evidence.case import Case
from holdfast.evidence.checkpoint_evidence import Evidence
from holdfast.evidence.collect import collect
from holdfast.evidence.outcomes import Refuses
from holdfast.evidence.overview import overview_of
from holdfast.evidence.spark_error import read_spark_error
from holdfast.evidence.stream import SinkEvidence, StreamEvidence
from holdfast.ids import BatchId, QueryId
from holdfast.ledger.coverage import Coverage
from holdfast.ledger.row import Binding, LedgerRow
from holdfast.ledger.store import Unreadable
from holdfast.record.generations import ADOPTED, OPENED, Generation
from holdfast.rules import RULES, Finding, Needs, Rule
from holdfast.sources.probe import Found, NotProbed, SourceProbe
from holdfast.spark_versions import parse_version
from holdfast.storage.location import parse_location
from holdfast.storage.memory import MemoryStorage
from holdfast.testing.case_form import (
    CHECKPOINT,
    QUERY_ID,
    ROOT,
    STREAM,
    CasePart,
    ExpectedFinding,
    RowCase,
    RuleCase,
    SinkCase,
)
from holdfast.testing.query_cases import make_query, state_files

_ENTRY = b'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}\n5'
__all__ = [
    "ExpectedFinding",
    "RowCase",
    "RuleCase",
    "SinkCase",
    "case_files",
    "find_differences",
    "findings_in",
    "make_case",
    "make_evidence",
    "read_cases",
]


class _File(CasePart, frozen=True, kw_only=True):
    case: tuple[RuleCase, ...]


def read_cases(text: str) -> tuple[RuleCase, ...]:
    """Return the cases of a file.

    Raises:
        ValueError: It is not TOML, or not of this form.
    """
    return msgspec.convert(tomllib.loads(text), type=_File).case


def findings_in(case: Case, rules: Iterable[Rule] = RULES) -> tuple[Finding, ...]:
    """Return what rules find, in the order of their codes; a rule that fails raises."""
    return tuple(finding for rule in rules for finding in rule.judge(case))


def make_case(case: RuleCase) -> Case:
    """Return everything that is known in a case."""
    evidence = _evidence(case)
    spark = parse_version(case.spark) if case.spark else None
    found = (case.kafka, case.delta, case.iceberg, case.file_source)
    probed = next((each for each in found if each is not None), None)
    unknown = None if case.not_probed is None else NotProbed(why=case.not_probed)
    looked = probed or unknown
    is_predicted = case.is_bare or case.is_diagnosed
    outputs = (case.delta_output, *case.delta_outputs, case.iceberg_output, case.file_output)
    return Case(
        checkpoint=evidence.checkpoint,
        now=case.now,
        overview=overview_of(evidence, spark=spark) if is_predicted else None,
        stream=None if case.is_bare else make_evidence(case),
        root=None if case.is_bare else ROOT,
        sources=() if looked is None else (_probe(looked, case.lossless_for),),
        outputs=tuple(each for each in outputs if each is not None),
        times=case.times,
        neighbours=case.neighbours,
        error=None if case.error is None else read_spark_error(case.error),
        event_log=case.event_log,
        flow=case.flow,
        query=make_query(case.query),
    )


def _probe(found: Found, lossless_for: timedelta | None) -> SourceProbe:
    shown = "source 0" if isinstance(found, NotProbed) else found.display_name
    return SourceProbe(source="0", display_name=shown, found=found, lossless_for=lossless_for)


def _evidence(case: RuleCase) -> Evidence:
    storage = MemoryStorage(case_files(case))
    if case.location:
        storage.location = parse_location(case.location)
    found = collect(storage)
    return replace(found, checkpoint=replace(found.checkpoint, is_file=case.is_file))


def case_files(case: RuleCase) -> dict[str, bytes]:
    """Return the files of the checkpoint of a case, by path."""
    files = {"metadata": msgspec.json.encode({"id": QUERY_ID})}
    files |= {f"offsets/{batch}": _ENTRY for batch in range(case.planned + 1)}
    files |= {f"commits/{batch}": b"v1\n{}" for batch in range(case.committed + 1)}
    files |= state_files(case.state)
    files |= {path: text.encode() for path, text in case.files.items()}
    return {path: raw for path, raw in files.items() if path not in case.gone}


def make_evidence(case: RuleCase) -> StreamEvidence:
    """Return what is known of the guarded stream of a case."""
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
        checkpoint=read_checkpoint(MemoryStorage(case_files(case))),
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
    known = make_case(case)
    found = tuple(rule.judge(known))
    again = tuple(rule.judge(pickle.loads(pickle.dumps(known))))  # noqa: S301 - made here
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
    if expected.accepting not in found.accepting or (found.refuses_start and not found.accepting):
        yield f"accepting says {found.accepting!r}, not {expected.accepting!r}"
    if found.accepted_batch != expected.accepted_batch:
        yield f"accepted, the row says {found.accepted_batch}, not {expected.accepted_batch}"
    about = SinkCase().name if expected.sink is None and rule.needs is Needs.STREAM else None
    if found.sink != (expected.sink or about):
        yield f"it is about {found.sink}, not {expected.sink or about}"
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
        display_name=f"the PostgreSQL table {sink.name}",
        row=None if row is None else _ledger_row(row, sink),
        held=held,
        contradicts=sink.contradicts,
        native_batch=sink.native_batch,
        is_added=sink.is_added,
        unreadable=None if sink.unreadable is None else Unreadable(sink.unreadable),
        owners=sink.owners,
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
