"""How `holdfast backfill` shows its plan, its progress and its end."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict

from holdfast.evidence.wording import count
from holdfast.redact import redact
from holdfast.streams.backfill.plan import (
    BackfillPlan,
    BackfillProgress,
    PartRange,
    SinkPart,
    SourcePart,
)

_WIDTH = 24
_MOST_SHOWN = 20
"""Partitions of one topic; the others are counted."""


def render_plan(plan: BackfillPlan) -> Iterator[str]:
    """Yield the lines of a plan."""
    left = plan.chunks - plan.done
    if plan.is_done:
        yield f"{plan.stream}: this range is in its sinks already ({plan.name})."
        return
    yield f"Backfill of {plan.stream}, as {plan.name}. Nothing was changed."
    yield ""
    if plan.done:
        yield f"  {plan.done:,} of {plan.chunks:,} chunks are done. What is left:"
    for source in plan.sources:
        yield from _source(source)
    yield f"  In {count(left, 'chunk')}, each written exactly once."
    for sink in plan.sinks:
        yield f"  {_sink(sink, plan)}"
    for doubt in plan.doubts:
        yield f"  The rows can differ from those of the stream: {doubt}."
    for need in plan.needs:
        yield f"  Needs --allow {need.word}: {need.why}."
    yield ""
    words = "".join(f" --allow {need.word}" for need in plan.needs)
    yield f"Run the same command with --execute{words} to write it."


def _source(source: SourcePart) -> Iterator[str]:
    expired = source.expired
    yield f"  Source {source.source}: {source.size:,} {source.unit}"
    for part in source.parts[:_MOST_SHOWN]:
        yield f"    {_part(part)}"
    if len(source.parts) > _MOST_SHOWN:
        yield f"    and {len(source.parts) - _MOST_SHOWN:,} more partitions"
    if source.unit == "offsets":
        there = source.size - expired
        yield f"    {there:,} are still in the topic, {expired:,} have expired for good"


def _part(part: PartRange) -> str:
    gone = f", {part.expired:,} expired" if part.expired else ""
    return f"{part.shown}: {part.start:,} up to {part.end:,}{gone}"


def _sink(sink: SinkPart, plan: BackfillPlan) -> str:
    ahead = ""
    if sink.chunks > plan.done:
        ahead = f" (it has chunk {sink.chunks:,} already, and skips it)"
    return f"{sink.shown[:1].upper()}{sink.shown[1:]} {sink.effect}{ahead}."


def plan_json(plan: BackfillPlan) -> str:
    """Return a plan as JSON."""
    said = asdict(plan)
    for source, part in zip(said["sources"], plan.sources, strict=True):
        source |= {"size": part.size, "expired": part.expired}
    said["start"], said["end"] = json.loads(plan.start), json.loads(plan.end)
    return redact(json.dumps({"format": "holdfast.backfill-plan", "version": 1, **said}))


def backfilled_json(stream: str, done: BackfillProgress) -> str:
    """Return how a backfill ended, as JSON."""
    said = {"stream": stream, "name": done.name, "chunks": done.chunks, "size": done.size}
    return json.dumps({"format": "holdfast.backfilled", "version": 1, **said})


def render_progress(progress: BackfillProgress) -> str:
    """Return the line of a progress bar."""
    full = _WIDTH * progress.done // progress.chunks
    bar = "#" * full + "-" * (_WIDTH - full)
    percent = 100 * progress.done // progress.chunks
    left = int(progress.seconds_per_chunk * (progress.chunks - progress.done))
    minutes, seconds = divmod(left, 60)
    ahead = f", about {minutes}:{seconds:02} left" if left else ""
    return (
        f"[{bar}] {percent:>3}%  {progress.done:,}/{progress.chunks:,} chunks, "
        f"{progress.read:,} of {progress.size:,}{ahead}"
    )
