"""Each rule on evidence made for it: what it finds, and what it lets pass."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import msgspec
import pytest

from holdfast.checkpoint import read_checkpoint
from holdfast.evidence.outcomes import Refuses
from holdfast.evidence.stream import SinkEvidence, StreamEvidence
from holdfast.ids import BatchId, QueryId
from holdfast.ledger import Binding, LedgerRow
from holdfast.ledger.coverage import Coverage
from holdfast.record import Generation
from holdfast.rules import RULES, judge
from holdfast.storage.memory import MemoryStorage
from tests.house.repository import ROOT

ENTRY = b'v1\n{"batchWatermarkMs":0,"batchTimestampMs":1,"conf":{}}\n5'
HERE = Binding(query_id=QueryId("6f0c"), checkpoint="s3://lake/streams/readings")
GENERATION = Generation(
    number=1,
    checkpoint=HERE.checkpoint,
    query_id=HERE.query_id,
    first_batch=0,
    why="opened",
    opened_at="2026-11-15T06:00:00+00:00",
)


def row(last: int, **changes: object) -> LedgerRow:
    found = LedgerRow(
        stream="readings",
        sink="public.readings",
        generation=1,
        epoch=8,
        nonce="n8",
        binding=HERE,
        last_batch=BatchId(last),
        digest=None if last < 0 else f"d{last}",
        end_offsets="{}",
    )
    return replace(found, **changes)  # type: ignore[arg-type]


def evidence(
    found: LedgerRow | None, *, planned: int, committed: int, **more: Any
) -> StreamEvidence:
    files = {"metadata": b'{"id":"6f0c0000-0000-4000-8000-000000000000"}'}
    files |= {f"offsets/{batch}": ENTRY for batch in range(planned + 1)}
    files |= {f"commits/{batch}": b"v1\n{}" for batch in range(committed + 1)}
    held = None
    if found is not None and 0 <= found.last_batch <= planned:
        held = Coverage(
            batch_id=found.last_batch,
            start_offsets="",
            end_offsets="",
            digest=more.get("digest", f"d{found.last_batch}"),
        )
    return StreamEvidence(
        stream="readings",
        generation=more.get("generation", GENERATION),
        checkpoint=read_checkpoint(MemoryStorage(files)),
        binding=HERE,
        sinks=(
            SinkEvidence(
                sink="public.readings",
                shown="the PostgreSQL table public.readings",
                row=found,
                held=held,
                contradicts=more.get("contradicts"),
            ),
        ),
        query_refused=more.get("query_refused"),
    )


ADOPTED = msgspec.structs.replace(GENERATION, why="adopted", first_batch=4)

FINE = {
    "never run": evidence(row(-1), planned=-1, committed=-1),
    "no row, and never run": evidence(None, planned=-1, committed=-1),
    "all is there": evidence(row(4), planned=4, committed=4),
    "killed before the sink had it": evidence(row(3), planned=4, committed=3),
    "killed before commits/4": evidence(row(4), planned=4, committed=3),
    "adopted before its first batch": evidence(
        None, planned=-1, committed=-1, generation=msgspec.structs.replace(ADOPTED, first_batch=0)
    ),
    "adopted, and its row made": evidence(row(3), planned=3, committed=3, generation=ADOPTED),
}


@pytest.mark.parametrize("found", FINE.values(), ids=list(FINE))
def test_what_a_kill_leaves_is_fine(found: StreamEvidence) -> None:
    assert judge(found) == ()


IN_HAND = ["HF611", "HF612"]
ELSEWHERE = replace(HERE, checkpoint="s3://lake/copy/readings")
TWO_SOURCES = Refuses(
    error="There are [1] sources", because="1 source, the query 2", follows_from=("offsets/4",)
)
CASES = {
    "HF401": (
        evidence(row(4), planned=4, committed=4, query_refused=TWO_SOURCES),
        ["1 source, the query 2", "There are [1] sources"],
    ),
    "HF601": (evidence(None, planned=4, committed=4), ["no ledger row", "up to 4"]),
    "HF602": (
        evidence(row(4, binding=ELSEWHERE), planned=4, committed=4),
        ["a copy of this checkpoint at s3://lake/copy/readings"],
    ),
    "HF603": (evidence(row(2), planned=4, committed=4), ["Batches 3 to 4 are missing"]),
    "HF604": (evidence(row(57), planned=41, committed=41), ["batch 57", "42 to 57 again"]),
    "HF605": (evidence(row(4), planned=4, committed=4, digest="x"), ["other content", "offsets/4"]),
    "HF606": (evidence(row(4), planned=-1, committed=-1), ["it was deleted"]),
    "HF607": (evidence(row(4, generation=2), planned=4, committed=4), ["generation 2", "says 1"]),
    "HF608": (
        evidence(row(4), planned=4, committed=4, contradicts="it is empty"),
        ["up to batch 4", "but it is empty"],
    ),
    "HF610": (
        evidence(None, planned=3, committed=3, generation=ADOPTED),
        ["up to batch 3", "could be there twice"],
    ),
}


@pytest.mark.parametrize("code", CASES)
def test_each_rule_finds_its_own_and_says_it_with_figures(code: str) -> None:
    found, words = CASES[code]
    (finding,) = judge(found)
    assert finding.code == code
    for word in words:
        assert word in finding.what
    assert ("public.readings" in finding.what) == (finding.sink == "public.readings")
    assert finding.how.endswith(".")
    assert finding.accepting
    assert finding.follows_from


def test_a_batch_in_hand_of_an_adopted_checkpoint_is_asked_for_both_ways() -> None:
    found = judge(evidence(None, planned=4, committed=3, generation=ADOPTED))
    assert [finding.code for finding in found] == ["HF610", *IN_HAND]
    assert "Batch 4 of s3://lake/streams/readings was planned" in found[1].what
    assert "every row of batch 4" in found[2].what
    assert "doubled" in found[1].accepting
    assert "lost" in found[2].accepting


def test_an_adopted_checkpoint_that_has_run_since_is_judged_as_any_other() -> None:
    (finding,) = judge(evidence(None, planned=5, committed=5, generation=ADOPTED))
    assert finding.code == "HF601"


def test_every_rule_has_a_case_and_a_section_on_its_page() -> None:
    assert [rule.code for rule in RULES] == [*CASES, *IN_HAND]
    page = (ROOT / "docs/reference/rules.md").read_text()
    shown = re.findall(r"^## (HF\d+) ([a-z-]+)$", page, re.MULTILINE)
    assert shown == [(rule.code, rule.name) for rule in RULES]
