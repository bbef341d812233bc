"""`holdfast adopt --format json`: the same answer for programs.

The schema is committed as docs/reference/adopt.schema.json.
"""

from __future__ import annotations

import msgspec

from holdfast.adoption.model import Adoption, Suggested
from holdfast.report.envelope import Answer, fill, render
from holdfast.rules.rule import Finding


class SuggestedJson(msgspec.Struct):
    """A value of the call, and where it comes from."""

    value: str
    where: str


class PendingBatchJson(msgspec.Struct):
    """The pending batch; `batch` is null when there is none.

    `holding` is `none-pending`, `held`, `not-held`, `partly` or `not-known`.
    """

    batch: int | None
    holding: str
    covers: tuple[str, ...]
    where: str
    then: str


class ToDoJson(msgspec.Struct):
    """Something to do before the stream runs guarded."""

    short: str
    what: str
    code: str | None


class UnclearJson(msgspec.Struct):
    """Something that was not known, and how to find it out."""

    what: str
    how: str


class AdoptionFindingJson(msgspec.Struct):
    """What a rule found; `question` is set where it is one of several answers."""

    code: str
    name: str
    severity: str
    what: str
    how: str
    accepting: str
    question: str | None


class ProgramChangeJson(msgspec.Struct):
    """The call to write; if `diff` is null, `by_hand` says why it must be written by hand."""

    place: str | None
    call: str
    diff: str | None
    by_hand: str | None
    notes: tuple[str, ...]


class AdoptJson(Answer, kw_only=True, tag_field="format", tag="holdfast.adopt"):
    """What `holdfast adopt` found.

    `verdict` is `adoptable`, `adoptable-after`, `not-adoptable` or `not-known`.
    """

    version: int = 1
    why: str
    stream: SuggestedJson
    root: SuggestedJson
    checkpoint: str
    query_id: str | None
    generation: int
    first_batch: int
    next_batch: int | None
    offsets: tuple[str, ...]
    pending: PendingBatchJson
    sink: SuggestedJson | None
    signs: str
    """When the old query last showed a sign of life, and what was looked at."""
    fences_old_writer: bool | None
    asks: tuple[AdoptionFindingJson, ...]
    """What the first start refuses until it is accepted."""
    others: tuple[AdoptionFindingJson, ...]
    todo: tuple[ToDoJson, ...]
    change: ProgramChangeJson
    not_known: tuple[UnclearJson, ...]


def adoption_json(found: Adoption) -> str:
    """Return the text to print."""
    return render(
        fill(
            AdoptJson,
            found,
            version=1,
            verdict=found.verdict.value,
            stream=_suggested(found.stream),
            root=_suggested(found.root),
            pending=fill(PendingBatchJson, found.pending, holding=found.pending.holding.value),
            sink=None if found.sink is None else _suggested(found.sink),
            asks=tuple(map(_finding, found.asks)),
            others=tuple(map(_finding, found.others)),
            todo=tuple(fill(ToDoJson, each) for each in found.todo),
            change=fill(ProgramChangeJson, found.change),
            not_known=tuple(fill(UnclearJson, each) for each in found.not_known),
        )
    )


def _suggested(value: Suggested) -> SuggestedJson:
    return fill(SuggestedJson, value)


def _finding(found: Finding) -> AdoptionFindingJson:
    return fill(AdoptionFindingJson, found, severity=found.severity.value)
