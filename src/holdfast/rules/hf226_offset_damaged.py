"""HF226: an offset in the newest entry has no longer the form of its source.

## What it finds

The offset of a source in the newest offset entry cannot be read as the entry before it can: it is
cut off, edited, or no JSON any more. The rest of the entry is intact. It is *likely*: it holds
unless the source itself was replaced.

## What Spark does

Spark hands the text to the source, which cannot read it. Every start fails at that, before a row
reaches the sink.

## What to do

Restore the entry from a backup or an object version. The progress events of the batch, in the
driver's log, have the same text as `endOffset`. Do not delete the entry: if the sink holds the
batch, Spark would plan it again with another range.

## What it cannot see

An offset that has its form and a wrong value. Offsets of sources that Holdfast does not know.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.sources import Offset, OpaqueOffset, parse_offset
from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.ids import BatchId
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    newest = case.newest_planned
    before, after = _offsets(case, newest - 1), _offsets(case, newest)
    for source, offset in after.items():
        known = before.get(source)
        if not isinstance(offset, OpaqueOffset) or known is None or isinstance(known, OpaqueOffset):
            continue
        yield RULE.find(
            what=(
                f"The offset of source {source} in offsets/{newest} has not the form that it has "
                f"in offsets/{newest - 1}. The source cannot read it, and every start fails."
            ),
            how=(
                f"Restore offsets/{newest} from a backup, or take the offset from the progress "
                f"event of batch {newest}. Do not delete the entry."
            ),
            accepting="Spark decides; the source cannot read its offset, and the query fails",
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
