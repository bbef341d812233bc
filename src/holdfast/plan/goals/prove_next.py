"""Whether `holdfast prove` can compare what a reset leads to: only then is it a next step."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.plan.goals.outputs import OutputChoice, ResetRequest
from holdfast.plan.world import SinkNow, StreamNow
from holdfast.sinks.kinds import kind_of
from holdfast.sinks.sink import Capability

_COMPARED = ("dedupe", "dedupeWithinWatermark", "stateStoreSave")
"""Operators with state whose result a proof computes again."""


def say_proof(streams: tuple[StreamNow, ...], request: ResetRequest) -> Iterator[str]:
    """Yield the proof that comes after a reset, and which streams it says nothing of, and why."""
    reasons = {each.stream: _why_not(each, request) for each in streams}
    if not all(reasons.values()):
        yield "holdfast prove MODULE:PIPELINE"
    for stream, why in reasons.items():
        if why:
            yield f"Compare {stream} yourself: `holdfast prove` cannot, {why}."


def _why_not(now: StreamNow, request: ResetRequest) -> str:
    """Return why the tables of a stream cannot be compared; empty when they can."""
    choices = {request.of(now.stream, sink.contract.label) for sink in now.sinks}
    if now.is_stateful and not _is_one_of_compared(now):
        return "because the query keeps state that a proof does not compare"
    if now.unseen or not all(_is_read_back(sink) for sink in now.sinks):
        return "because it cannot read what a sink of it holds"
    if now.is_stateful and OutputChoice.KEEP in choices:
        return "because the table keeps rows that an earlier state has given"
    return ""


def _is_read_back(sink: SinkNow) -> bool:
    kind = kind_of(sink.contract)
    return kind is not None and Capability.CONTENTS in kind.capabilities


def _is_one_of_compared(now: StreamNow) -> bool:
    contract = None if now.guard is None else now.guard.contract
    operators = () if contract is None else contract.operators
    return len(operators) == 1 and operators[0] in _COMPARED
