"""One batch, for people."""

from __future__ import annotations

from holdfast.checkpoint.commits import CommitEntry
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.cli.inspection import BatchDetail
from holdfast.cli.table import columns
from holdfast.evidence.wording import amount, position, source_kind
from holdfast.wording import moment


def render_batch(checkpoint: Checkpoint, batch: BatchDetail) -> list[str]:
    """Return what the entries of a batch say."""
    entry = checkpoint.offsets.get(batch.batch_id)
    rows: list[tuple[str, ...]] = [(f"  batch {batch.batch_id}", _planned(entry))]
    if isinstance(entry, OffsetEntry) and entry.metadata is not None:
        watermark = entry.metadata.batch_watermark_ms
        rows.append(("  watermark", moment(watermark) if watermark else "none"))
    rows.append(("  committed", _committed(checkpoint.commits.get(batch.batch_id))))
    for each in batch.ranges:
        name = f"  source {each.source}"
        rows.append((name, f"{source_kind(each.end)}: {amount(each.amount)}"))
        start = position(each.start, each.source) if each.start else "unknown"
        rows.append(("    from", start))
        rows.append(("    to", position(each.end, each.source)))
    if isinstance(entry, OffsetEntry) and entry.metadata is not None:
        rows += [
            ("  setting", f"{key}={value}") for key, value in sorted(entry.metadata.conf.items())
        ]
    return ["", *columns(rows)]


def _planned(entry: OffsetEntry | Unparsed | None) -> str:
    match entry:
        case None:
            return "no offset entry: not planned yet, or already purged"
        case Unparsed(reason=reason):
            return f"the offset entry cannot be read: {reason}"
        case OffsetEntry(metadata=metadata):
            at = None if metadata is None else moment(metadata.batch_timestamp_ms)
            return f"planned at {at}" if at else "planned by continuous processing"


def _committed(commit: CommitEntry | Unparsed | None) -> str:
    match commit:
        case None:
            return "no"
        case Unparsed(reason=reason):
            return f"the commit entry cannot be read: {reason}"
        case CommitEntry(next_watermark_ms=watermark):
            return f"yes, next watermark {moment(watermark)}" if watermark else "yes"
