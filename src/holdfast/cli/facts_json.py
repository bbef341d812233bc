"""`holdfast facts --format json`: the same facts for programs, with every partition and start."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.sources.kafka import KafkaOffset
from holdfast.cli.diagnosis_form import FactsJson, PositionJson, StartJson
from holdfast.cli.diagnosis_json import encode, fact_json
from holdfast.diagnosis import Fact
from holdfast.diagnosis.restart_facts import ends_of
from holdfast.evidence.case import Case
from holdfast.evidence.progress import SourceRange, find_progress
from holdfast.evidence.wording import position, source_kind
from holdfast.record.run_history import RunEnd, UnreadRun
from holdfast.record.runs import Run
from holdfast.redact import redact
from holdfast.version import __version__


def render_facts_json(case: Case, facts: tuple[Fact, ...]) -> str:
    """Return the text to print."""
    history, sources = case.history, find_progress(case.checkpoint).sources
    starts = None
    if history is not None and history.unlisted is None:
        ends = dict(ends_of(history, case.record))
        starts = tuple(_start(each, ends[each.run_id]) for each in history.runs)
    return encode(
        FactsJson(
            holdfast=__version__,
            location=redact(str(case.checkpoint.location)),
            facts=tuple(map(fact_json, facts)),
            offsets=tuple(each for source in sources for each in _positions(source)),
            starts=starts,
            older_starts=0 if history is None else history.older,
            not_read=tuple(map(redact, _not_read(case))),
        )
    )


def _not_read(case: Case) -> Iterator[str]:
    yield from case.not_looked_at
    if case.history is not None and case.history.unlisted is not None:
        yield f"the runs of the stream: {case.history.unlisted}"


def _positions(found: SourceRange) -> Iterator[PositionJson]:
    """Yield how far a source is read: of Kafka each partition."""
    kind = redact(source_kind(found.end))
    if not isinstance(found.end, KafkaOffset):
        shown = redact(position(found.end, found.source))
        yield PositionJson(source=found.source, kind=kind, position=shown)
        return
    for topic, offsets in sorted(found.end.partitions.items()):
        for partition, offset in sorted(offsets.items()):
            yield PositionJson(
                source=found.source,
                kind=kind,
                position=f"offset {offset}",
                topic=redact(topic),
                partition=partition,
                offset=offset,
            )


def _start(run: Run | UnreadRun, end: RunEnd) -> StartJson:
    if isinstance(run, UnreadRun):
        return StartJson(
            epoch=run.epoch,
            run_id=run.run_id,
            ended=end,
            where=run.path,
            not_known=redact(run.why),
        )
    return StartJson(
        epoch=run.epoch,
        run_id=run.run_id,
        ended=end,
        where=run.path,
        generation=run.generation,
        spark=redact(run.spark),
        began_at=run.started_at,
        ended_at=run.ended_at or None,
        error=redact(run.error) or None,
        first_batch=run.first_batch,
        last_batch=run.last_batch,
    )
