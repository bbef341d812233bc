"""`holdfast inspect` for people: the answer first, then the facts it follows from."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from holdfast.checkpoint.commits import NamedSink
from holdfast.checkpoint.layout import STATE
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.state import NotCounted
from holdfast.cli.inspect_batch_text import render_batch
from holdfast.cli.inspect_state_text import render_state, render_stores
from holdfast.cli.inspection import Inspection
from holdfast.cli.next_start_text import say_next_start
from holdfast.cli.table import columns
from holdfast.cli.wording import ago, batches, count, moment, position, size, source_kind, versions
from holdfast.evidence.outcomes import Resumes, RunsAgain, Unknown
from holdfast.evidence.overview import Overview
from holdfast.evidence.progress import Progress, SourceRange

_SHOWN_PATHS = 5
_NOT_LOOKED_AT = "the sinks, what the source still holds, whether a driver is running"


def render_text(inspection: Inspection, *, now: datetime) -> list[str]:
    """Return the lines to show."""
    overview = inspection.overview
    if overview.checkpoint.is_empty:
        return [
            f"There is no checkpoint at {overview.checkpoint.location}.",
            "A query started with this location would begin with batch 0 and a new query id.",
        ]
    lines = [
        *say_next_start(overview),
        "",
        *_facts(overview, now),
        *render_state(overview.state, looked_into=_is_read(inspection)),
    ]
    if inspection.stores is not None:
        lines += render_stores(inspection.stores)
    if inspection.batch is not None:
        lines += render_batch(overview.checkpoint, inspection.batch)
    if inspection.files is not None:
        lines += [
            "",
            *columns([("  " + file.path, size(file.size_bytes)) for file in inspection.files]),
        ]
    version = f"Spark {overview.spark[0]}.{overview.spark[1]}"
    looked_at = f"Looked at: {_looked_at(inspection)}."
    return [*lines, "", f"Predicted for {version}. {looked_at} Not looked at: {_NOT_LOOKED_AT}."]


def _is_read(inspection: Inspection) -> bool:
    """Return whether every state file that is loaded was read, not only listed."""
    stores = inspection.stores
    return stores is not None and not any(
        isinstance(store.rows, NotCounted) and "pip install" in store.rows.why for store in stores
    )


def _facts(overview: Overview, now: datetime) -> list[str]:
    checkpoint, progress = overview.checkpoint, overview.progress
    state = count(len(checkpoint.state), "operator") if checkpoint.state else "none"
    rewind = f"to batches {batches(progress.rewind)}" if progress.rewind else "not possible"
    if _is_state_open(overview):
        state = "unknown: there is no state/"
        rewind += ", if the query keeps no state" if progress.rewind else ""
    if checkpoint.unlisted:
        state = rewind = "not known"
    rows: list[tuple[str, ...]] = [
        ("  query", _query_id(checkpoint), "written by", _writers(overview)),
        ("  offsets", _entries(progress.planned), "newest", _newest(progress, now)),
        ("  commits", _entries(progress.committed), "pending", _pending(progress)),
        *(_source_row(each, progress) for each in progress.sources),
        *(_sink_row(each) for each in progress.sinks),
        ("  state", state, "readable by", versions(overview.readers.versions)),
        ("  watermark", "none" if progress.watermark_ms is None else moment(progress.watermark_ms)),
        ("  rewind", rewind),
    ]
    blocking = set(overview.next_start.follows_from)
    ignored = [path for path in checkpoint.leftovers if path not in blocking]
    blocked = [path for path in checkpoint.leftovers if path in blocking]
    rows += _paths("leftover", ignored, "harmless: Spark ignores it")
    rows += _paths("leftover", blocked, "Spark stumbles over it")
    rows += _paths("forgotten", checkpoint.lone_sidecars, "checksums of an entry that is gone")
    rows += _paths("edited", checkpoint.stale_sidecars, "does not fit its entry: changed by hand")
    rows += _paths("foreign", checkpoint.foreign, "not Spark's: Spark ignores it")
    rows += [("  unparsed", each.path, each.reason) for each in checkpoint.unparsed[:_SHOWN_PATHS]]
    if len(checkpoint.unparsed) > _SHOWN_PATHS:
        rows.append(("  unparsed", f"and {len(checkpoint.unparsed) - _SHOWN_PATHS:,} more"))
    return columns(rows)


def _is_state_open(overview: Overview) -> bool:
    """Return whether the answer leaves open if the query keeps state."""
    found = overview.next_start
    is_open = isinstance(found, Unknown) or (
        isinstance(found, Resumes | RunsAgain) and found.unless is not None
    )
    return is_open and STATE not in overview.checkpoint.directories


def _query_id(checkpoint: Checkpoint) -> str:
    if checkpoint.metadata is None:
        return "none: metadata is not there"
    if isinstance(checkpoint.metadata, QueryMetadata):
        return checkpoint.metadata.query_id
    return "not readable"


def _writers(overview: Overview) -> str:
    found = overview.writers.versions
    # What 3.5 pins, 3.2 to 3.4 pinned too; they are not told apart.
    return f"{versions(found)} or older" if found == ((3, 5),) else versions(found)


def _entries(numbers: Sequence[int]) -> str:
    return f"{batches(numbers)}  ({count(len(numbers), 'entry')})" if numbers else "none"


def _newest(progress: Progress, now: datetime) -> str:
    if progress.newest_ms is None:
        return "not known"
    return f"{moment(progress.newest_ms)}, {ago(progress.newest_ms, now)}"


def _pending(progress: Progress) -> str:
    return count(len(progress.pending), "batch") if progress.pending else "nothing"


def _source_row(found: SourceRange, progress: Progress) -> tuple[str, ...]:
    change = ""
    if progress.pending and found.amount is not None:
        change = f", pending +{found.amount.number:,}"
    return f"  source {found.source}", source_kind(found.end), position(found.end) + change


def _sink_row(found: NamedSink) -> tuple[str, ...]:
    used = "written to by the newest batch" if found.is_active else "used before"
    return f"  sink {found.name}", found.provider or "class not known", used


def _paths(label: str, paths: Sequence[str], meaning: str) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [(f"  {label}", path, meaning) for path in paths[:_SHOWN_PATHS]]
    if len(paths) > _SHOWN_PATHS:
        rows.append((f"  {label}", f"and {len(paths) - _SHOWN_PATHS:,} more"))
    return rows


def _looked_at(inspection: Inspection) -> str:
    overview = inspection.overview
    checkpoint = overview.checkpoint
    how = "" if _is_read(inspection) else " by name"
    entries = len(checkpoint.offsets) + len(checkpoint.commits)
    files = sum(len(store.files) for each in checkpoint.state for store in each.stores)
    parts = [
        count(entries, "log entry"),
        count(len(overview.progress.sources), "source"),
        *([f"{count(files, 'state file')}{how}"] if files else []),
    ]
    unread = sum(each.unread for each in checkpoint.unparsed)
    return ", ".join(parts) + (f" ({count(unread, 'file')} could not be read)" if unread else "")
