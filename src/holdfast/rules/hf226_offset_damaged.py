"""HF226: an offset in the newest entry is damaged: its form is another, or it went back.

## What it finds

The offset of a source in the newest offset entry cannot be read as the entry before it can: it is
cut off, edited, or no JSON any more. Or the offset of a file source is behind that in the entry
before it, or that entry has not the form of a file source. The rest of the entry is intact. It is
*likely*: it holds unless the source itself was replaced.

## What Spark does

Spark hands the text to the source, which cannot read it, or cannot go from the later offset to the
earlier one. Every start fails at that, before a row reaches the sink.

## What to do

Restore the entry from a backup or an object version. The progress events of the batch, in the
driver's log, have the same text as `endOffset`. Do not delete the entry: if the sink holds the
batch, Spark would plan it again with another range.

## What it cannot see

An offset that has its form and a wrong value. Offsets of sources that Holdfast does not know.

## Where this comes from

- Spark 4.2.0, `toStreamProgress` in
  [OffsetSeq.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/OffsetSeq.scala)
- Spark 4.2.0, `partitionOffsets` in
  [JsonUtils.scala](https://github.com/apache/spark/blob/v4.2.0/connector/kafka-0-10-sql/src/main/scala/org/apache/spark/sql/kafka010/JsonUtils.scala)
- Measured, in the repository, by `python -m campaigns.damages`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.sources import Offset, OpaqueOffset, parse_offset
from holdfast.checkpoint.sources.files import FileOffset
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.ids import BatchId
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    newest = case.newest_planned
    before, after = _offsets(case, newest - 1), _offsets(case, newest)
    for source, offset in after.items():
        known = before.get(source)
        if _is_behind(offset, known):
            yield _find(case, newest, f"is behind the one in offsets/{newest - 1}", source=source)
            continue
        if isinstance(offset, FileOffset) and isinstance(known, OpaqueOffset):
            form = f"has not the form that it has in offsets/{newest}"
            yield _find(case, newest - 1, form, source=source)
            continue
        if not isinstance(offset, OpaqueOffset) or known is None or isinstance(known, OpaqueOffset):
            continue
        form = f"has not the form that it has in offsets/{newest - 1}"
        yield _find(case, newest, form, source=source)


def _is_behind(offset: Offset, before: Offset | None) -> bool:
    if not isinstance(offset, FileOffset) or not isinstance(before, FileOffset):
        return False
    return offset.log_offset < before.log_offset


def _find(case: Case, batch: int, what: str, *, source: str) -> Finding:
    newest = case.newest_planned
    return RULE.find(
        what=(
            f"The offset of source {source} in offsets/{batch} {what}. The source cannot use it, "
            "and every start fails."
        ),
        how=(
            f"Restore offsets/{batch} from a backup, or take the offset from the progress event "
            f"of batch {batch}. Do not delete the entry."
        ),
        accepting="Spark decides; the source cannot use its offset, and the query fails",
        follows_from=(f"offsets/{newest}", f"offsets/{newest - 1}"),
    )


def _offsets(case: Case, batch: int) -> dict[str, Offset]:
    """Return what an entry says of its sources; nothing where it cannot be read."""
    entry = case.checkpoint.offsets.get(BatchId(batch))
    if not isinstance(entry, OffsetEntry):
        return {}
    return {each.source: parse_offset(each.text) for each in entry.offsets if each.text}


RULE = Rule(
    code="HF226",
    name="offset-damaged",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.LIKELY,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
