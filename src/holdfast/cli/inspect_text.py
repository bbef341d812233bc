"""`holdfast inspect` for people: the answer first, then the facts it follows from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from holdfast.checkpoint.commits import NamedSink
from holdfast.checkpoint.layout import STATE
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.state import NotCounted
from holdfast.cli.guard_text import render_guard, say_driver, say_unchecked
from holdfast.cli.inspect_batch_text import render_batch
from holdfast.cli.inspect_state_text import render_state, render_stores
from holdfast.cli.inspection import Inspection
from holdfast.cli.next_start_text import say_findings, say_next_start
from holdfast.cli.table import columns
from holdfast.evidence.outcomes import Resumes, RunsAgain, Unknown
from holdfast.evidence.overview import Overview
from holdfast.evidence.progress import Progress, SourceRange
from holdfast.evidence.wording import (
    amount,
    position,
    source_kind,
    versions,
)
from holdfast.judgement.advice import advise
from holdfast.sources.probe import NotProbed, SourceProbe
from holdfast.sources.registry import unparsed_of
from holdfast.wording import (
    ago,
    batches,
    count,
    duration,
    moment,
    size,
)

_SHOWN_PATHS = 5


def render_text(inspection: Inspection, *, now: datetime) -> list[str]:
    """Return the lines to show."""
    overview, guard = inspection.overview, inspection.guard
    lines = [
        *say_next_start(overview),
        *say_findings(inspection.judgement),
        *say_driver(guard, now),
        f"What to do: {advise(inspection.judgement)}",
    ]
    if overview.checkpoint.is_empty:
        return lines
    lines += [
        "",
        *_facts(inspection, now),
        *render_state(overview.state, is_opened=_is_opened(inspection)),
    ]
    if inspection.stores is not None:
        lines += render_stores(inspection.stores)
    if inspection.batch is not None:
        lines += render_batch(overview.checkpoint, inspection.batch)
    if inspection.cost is not None:
        from holdfast.cli.inspect_cost_text import render_cost  # noqa: PLC0415 - on request

        lines += render_cost(overview.checkpoint, inspection.cost)
    if inspection.files is not None:
        lines += [
            "",
            *columns([("  " + file.path, size(file.size_bytes)) for file in inspection.files]),
        ]
    if inspection.judgement.case.event_log is not None:
        from holdfast.cli.event_log_text import render_event_log  # noqa: PLC0415 - on request

        lines += render_event_log(
            inspection.judgement.case.event_log, max(overview.checkpoint.commits, default=-1)
        )
    return [*lines, "", _say_checked(inspection)]


def _say_checked(inspection: Inspection) -> str:
    version = "Spark {}.{}".format(*inspection.overview.spark)
    unchecked = say_unchecked(
        inspection.record, is_probed=inspection.is_probed, unanswered=inspection.unanswered
    )
    return f"Predicted for {version}. Checked: {_checked(inspection)}. Not checked: {unchecked}."


def _is_opened(inspection: Inspection) -> bool:
    """Return whether every state file that is loaded was read, not only listed."""
    stores = inspection.stores
    return stores is not None and not any(
        isinstance(store.rows, NotCounted) and "pip install" in store.rows.why for store in stores
    )


def _facts(inspection: Inspection, now: datetime) -> list[str]:
    overview = inspection.overview
    checkpoint, progress = overview.checkpoint, overview.progress
    state = count(len(checkpoint.state), "operator") if checkpoint.state else "none"
    rewind = f"possible to batches {batches(progress.rewind)}" if progress.rewind else "impossible"
    if _is_state_open(overview):
        state = "no state/ directory"
        rewind += ", if the query is stateless" if progress.rewind else ""
    if checkpoint.unlisted:
        state = rewind = "unknown"
    rows: list[tuple[str, ...]] = [
        ("  query", _query_id(checkpoint), "written by", _writers(overview)),
        *render_guard(inspection.guard, now),
        ("  offsets", _entries(progress.planned), "newest", _newest(progress, now)),
        ("  commits", _entries(progress.committed), "pending", _pending(progress)),
        *(_source_row(each, progress) for each in progress.sources),
        *_probe_rows(inspection.probes),
        *(_sink_row(each) for each in progress.sinks),
        ("  state", state, "readable by", versions(overview.readers.versions)),
        ("  watermark", "none" if progress.watermark_ms is None else moment(progress.watermark_ms)),
        ("  rewind", rewind),
        *_unusual(overview),
    ]
    return columns(rows)


def _unusual(overview: Overview) -> Iterator[tuple[str, ...]]:
    """Yield a row for everything that an undamaged checkpoint does not have."""
    checkpoint = overview.checkpoint
    blocking = set(overview.next_start.follows_from)
    ignored = "harmless: Spark ignores it"
    blocked = "blocks the next start"
    for label, paths, meaning in (
        ("temp file", checkpoint.leftovers, f"of a writer, stopped or at work; {ignored}"),
        ("unexpected", checkpoint.foreign, f"not written by Spark; {ignored}"),
    ):
        yield from _paths(label, [path for path in paths if path not in blocking], meaning)
        yield from _paths(label, [path for path in paths if path in blocking], blocked)
    orphan = "checksum of a deleted entry: Spark cannot write that entry again"
    yield from _paths("orphan", checkpoint.lone_sidecars, orphan)
    edited = "changed after Spark wrote it: its checksum does not match"
    yield from _paths("edited", [*map(_entry_of, checkpoint.stale_sidecars)], edited)
    for each in unparsed_of(checkpoint)[:_SHOWN_PATHS]:
        yield "  unreadable", each.path, each.reason
    if len(unparsed_of(checkpoint)) > _SHOWN_PATHS:
        yield "  unreadable", f"and {len(unparsed_of(checkpoint)) - _SHOWN_PATHS:,} more"


def _entry_of(sidecar: str) -> str:
    """Return the entry that a checksum is for: `offsets/5` of `offsets/.5.crc`."""
    directory, _, name = sidecar.rpartition("/")
    return f"{directory}/{name.removeprefix('.').removesuffix('.crc')}"


def _is_state_open(overview: Overview) -> bool:
    """Return whether the checkpoint does not show if the query is stateful."""
    found = overview.next_start
    is_open = isinstance(found, Unknown) or (
        isinstance(found, Resumes | RunsAgain) and found.unless is not None
    )
    return is_open and STATE not in overview.checkpoint.directories


def _query_id(checkpoint: Checkpoint) -> str:
    if checkpoint.metadata is None:
        return "none: the file metadata is missing"
    if isinstance(checkpoint.metadata, QueryMetadata):
        return checkpoint.metadata.query_id
    return "unreadable"


def _writers(overview: Overview) -> str:
    found = overview.writers.versions
    # 3.2 to 3.4 record the same settings as 3.5.
    return f"{versions(found)} or older" if found == ((3, 5),) else versions(found)


def _entries(numbers: Sequence[int]) -> str:
    return f"{batches(numbers)}  ({count(len(numbers), 'entry')})" if numbers else "none"


def _newest(progress: Progress, now: datetime) -> str:
    if progress.newest_ms is None:
        return "unknown"
    return f"{moment(progress.newest_ms)}, {ago(progress.newest_ms, now)}"


def _pending(progress: Progress) -> str:
    return count(len(progress.pending), "batch") if progress.pending else "none"


def _source_row(found: SourceRange, progress: Progress) -> tuple[str, ...]:
    change = ""
    if progress.pending and found.amount is not None:
        change = f", pending: {amount(found.amount)}"
    where = position(found.end, found.source)
    return f"  source {found.source}", source_kind(found.end), where + change


def _probe_rows(probes: tuple[SourceProbe, ...] | None) -> Iterator[tuple[str, ...]]:
    if probes == ():
        yield "  lossless", "no source", "not known"
    yield from map(_probe_row, probes or ())


def _probe_row(found: SourceProbe) -> tuple[str, ...]:
    """Say for how long a resume still finds everything that it needs of a source."""
    if isinstance(found.found, NotProbed):
        left = f"not known: {found.found.why}"
    elif found.lossless_for is None:
        left = f"not known{': ' if found.lossless_by else ''}{found.lossless_by}"
    elif found.lossless_for:
        left = f"another {duration(found.lossless_for)}: {found.lossless_by}"
    else:
        left = f"no longer: {found.lossless_by or 'something is gone already'}"
    return "  lossless", found.display_name, left


def _sink_row(found: NamedSink) -> tuple[str, ...]:
    used = "written by the newest batch" if found.is_active else "used by an earlier run"
    return f"  sink {found.name}", found.provider or "unknown class", used


def _paths(label: str, paths: Sequence[str], meaning: str) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = [(f"  {label}", path, meaning) for path in paths[:_SHOWN_PATHS]]
    if len(paths) > _SHOWN_PATHS:
        rows.append((f"  {label}", f"and {len(paths) - _SHOWN_PATHS:,} more"))
    return rows


def _checked(inspection: Inspection) -> str:
    overview = inspection.overview
    checkpoint = overview.checkpoint
    entries = len(checkpoint.offsets) + len(checkpoint.commits)
    files = sum(len(store.files) for each in checkpoint.state for store in each.stores)
    how = "" if _is_opened(inspection) else " (listed, not opened: add --state)"
    parts = [
        count(entries, "log entry"),
        count(len(overview.progress.sources), "source"),
        *([f"{count(files, 'state file')}{how}"] if files else []),
    ]
    unread = sum(each.unread for each in unparsed_of(checkpoint))
    return ", ".join(parts) + (f" ({count(unread, 'file')} could not be read)" if unread else "")
