"""The table, line by line; the first line that answers wins."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import pytest

from holdfast.ids import BatchId, QueryId
from holdfast.ledger import (
    Apply,
    Attempt,
    Binding,
    Decision,
    LedgerRow,
    Reason,
    Refuse,
    Skip,
    advance,
    decide,
)

HERE = Binding(query_id=QueryId("6f0c"), checkpoint="s3://lake/streams/readings")
THERE = Binding(query_id=QueryId("77aa"), checkpoint="s3://lake/streams/readings")
MOVED = Binding(query_id=QueryId("6f0c"), checkpoint="s3://lake/copy/readings")

ROW = LedgerRow(
    stream="readings",
    sink="public.readings",
    generation=2,
    epoch=8,
    nonce="n8",
    binding=HERE,
    last_batch=BatchId(41),
    digest="d41",
    end_offsets="e41",
)
NEXT = Attempt(
    stream="readings",
    sink="public.readings",
    generation=2,
    epoch=8,
    nonce="n8",
    binding=HERE,
    batch_id=BatchId(42),
    digest="d42",
    start_offsets="e41",
    end_offsets="e42",
)

CASES: dict[str, tuple[dict[str, Any], Decision]] = {
    "the next batch": ({}, Apply()),
    "an older generation": ({"generation": 1}, Refuse(Reason.GENERATION_FENCED)),
    "a newer generation": ({"generation": 3}, Refuse(Reason.GENERATION_AHEAD)),
    "an older driver": ({"epoch": 7, "nonce": "n7"}, Refuse(Reason.EPOCH_FENCED)),
    "a driver that never fenced": ({"epoch": 9, "nonce": "n9"}, Refuse(Reason.EPOCH_AHEAD)),
    "another's epoch of the same number": ({"nonce": "x"}, Refuse(Reason.EPOCH_AHEAD)),
    "another query": ({"binding": THERE}, Refuse(Reason.OTHER_BINDING)),
    "a copied checkpoint": ({"binding": MOVED}, Refuse(Reason.OTHER_BINDING)),
    "the last batch again": (
        {"batch_id": 41, "digest": "d41", "start_offsets": "e40", "end_offsets": "e41"},
        Skip(),
    ),
    "the last number with other content": (
        {"batch_id": 41, "digest": "x"},
        Refuse(Reason.OTHER_CONTENT),
    ),
    "an older batch": ({"batch_id": 40, "digest": "d40"}, Refuse(Reason.SINK_AHEAD)),
    "an older batch that would fit": ({"batch_id": 3}, Refuse(Reason.SINK_AHEAD)),
    "a batch too far": ({"batch_id": 43}, Refuse(Reason.GAP)),
    "a batch that begins elsewhere": ({"start_offsets": "e40"}, Refuse(Reason.BROKEN_CHAIN)),
}


@pytest.mark.parametrize(("changes", "expected"), CASES.values(), ids=list(CASES))
def test_each_line_answers(changes: dict[str, Any], expected: Decision) -> None:
    assert decide(ROW, replace(NEXT, **changes)) == expected


def test_without_a_row_nothing_is_written() -> None:
    assert decide(None, NEXT) == Refuse(Reason.NO_ROW)


def test_the_first_line_that_answers_wins() -> None:
    """A driver that was replaced is told so, whatever else is wrong with what it brings."""
    order = ["an older generation", "an older driver", "another query", "a batch too far"]
    for first, second in itertools.combinations(order, 2):
        both = {**CASES[second][0], **CASES[first][0]}
        assert decide(ROW, replace(NEXT, **both)) == CASES[first][1]


def test_only_who_was_replaced_is_fenced() -> None:
    fenced = {reason for reason in Reason if reason.is_fenced}
    assert fenced == {Reason.GENERATION_FENCED, Reason.EPOCH_FENCED}


def test_an_applied_batch_is_skipped_when_it_comes_again() -> None:
    after = advance(ROW, NEXT)
    assert decide(after, NEXT) == Skip()
    following = replace(
        NEXT, batch_id=BatchId(43), digest="d43", start_offsets="e42", end_offsets="e43"
    )
    assert decide(after, following) == Apply()
