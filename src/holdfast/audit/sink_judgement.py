"""What a sink does with a batch that Spark writes again, as a value; and of several the worst."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

import msgspec

from holdfast.grades import Effect, Recognises

_WORST_FIRST = (
    Recognises.NO,
    Recognises.NOT_KNOWN,
    Recognises.DEPENDS,
    Recognises.YES,
    Recognises.NOT_KEPT,
)


class KnownBy(StrEnum):
    """By what a sink recognises a batch: it decides what a new checkpoint does."""

    QUERY = "query"
    """The query's id and the number: a new checkpoint is another query."""
    NUMBER = "number"
    """The number alone: a new checkpoint counts from 0 again, and meets numbers that are there."""
    KEY = "key"
    """The rows' own key: a new checkpoint writes the same rows again."""
    NOTHING = "nothing"


class SinkJudgement(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a sink recognises a repeated batch, and where the code shows it."""

    recognises: Recognises
    why: str
    at: tuple[int, int]
    """Line and column in the text that was parsed."""
    known_by: KnownBy = KnownBy.NOTHING
    effect: Effect | None = None
    """What the repeated batch does, where that does not follow from `recognises`."""
    change: str | None = None
    """What makes it safe."""


def worst_of(judgements: Iterable[SinkJudgement]) -> SinkJudgement | None:
    """Return the judgement that decides for several writes of one batch."""
    ordered = sorted(judgements, key=lambda each: _WORST_FIRST.index(each.recognises))
    return ordered[0] if ordered else None
