"""What the logs tell about the past: edits, gaps, two writers."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import timedelta
from itertools import pairwise

from holdfast.checkpoint.checksums import sidecar_of
from holdfast.checkpoint.layout import parse_name
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.evidence.case import Case
from holdfast.evidence.read_at_start import changed_files, decides_start, is_log_entry
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.entry_figures import MINUTE_MS, batches_text, moment_text, with_settings
from holdfast.rules.predicted import spark_will
from holdfast.rules.rule import Finding, rule
from holdfast.sources.registry import unparsed_of


@rule("HF215", Severity.RISK, Confidence.LIKELY, Effect.REPEATS, Goal.RESUME)
def batch_times_go_back(case: Case) -> Iterator[Finding]:
    """A batch is older than the batch before it."""
    if case.overview is None:
        return
    edited = {path for path, _ in changed_files(case.checkpoint)}
    for (batch, earlier), (after, later) in pairwise(with_settings(case.checkpoint)):
        if later.batch_timestamp_ms + MINUTE_MS >= earlier.batch_timestamp_ms:
            continue
        if {f"offsets/{batch}", f"offsets/{after}"} & edited:
            continue  # no driver wrote that time: another rule speaks of it
        yield batch_times_go_back.find(
            what=(
                f"Batch {after} began at "
                f"{moment_text(later.batch_timestamp_ms)}, before batch {batch} at "
                f"{moment_text(earlier.batch_timestamp_ms)}: two drivers wrote the log, an older "
                "copy was restored, or a clock was set back."
            ),
            how=f"Check that one driver runs, and compare the sink from batch {batch} on.",
            follows_from=(f"offsets/{batch}", f"offsets/{after}"),
        )
        return


_SLACK = timedelta(minutes=1)

_MOST = 2
"""More than these, and the directory was copied in no order."""


@rule("HF216", Severity.RISK, Confidence.LIKELY, Effect.ALTERS, Goal.RESUME)
def entry_written_later(case: Case) -> Iterator[Finding]:
    """An older offset entry was written after newer ones."""
    if case.overview is None:
        return
    times = [
        (batch, case.times[path])
        for batch in case.checkpoint.offsets
        if (path := f"offsets/{batch}") in case.times
    ]
    late = [
        (batch, after, written - then)
        for (batch, written), (after, then) in pairwise(times)
        if written > then + _SLACK
    ]
    for batch, after, by in late if len(late) <= _MOST else ():
        if not decides_start(case.checkpoint, f"offsets/{batch}"):
            continue
        yield entry_written_later.find(
            what=(
                f"Spark does not notice that offsets/{batch} was written "
                f"{by.total_seconds():.0f} s "
                f"after offsets/{after}: the entry was edited or restored, or a second driver "
                "wrote it."
            ),
            how=f"Compare offsets/{batch} with a backup or with the progress of its batch.",
            follows_from=(f"offsets/{batch}", f"offsets/{after}"),
        )


@rule("HF217", Severity.RISK, Confidence.LIKELY, Effect.ALTERS, Goal.RESUME)
def entry_edited(case: Case) -> Iterator[Finding]:
    """A file that Spark reads at a start was changed after Spark wrote it."""
    if case.overview is None:
        return
    unreadable = {each.path for each in unparsed_of(case.checkpoint)}
    for entry, sidecar in changed_files(case.checkpoint):
        # Spark will not take what it cannot read: another rule says so.
        if entry in unreadable or not decides_start(case.checkpoint, entry):
            continue
        yield entry_edited.find(
            what=(
                f"{spark_will(case)} take {entry} as it is, although it was changed after "
                "Spark wrote it: its checksum does not fit."
            ),
            how=f"Compare {entry} with a backup{_progress(entry)}.",
            follows_from=(entry, sidecar),
        )
    yield from _find_state(case)


def _find_state(case: Case) -> Iterator[Finding]:
    stores = () if case.overview is None else case.overview.stores
    damaged = {each.path for store in stores for each in store.damaged}
    for path in (each for store in stores for each in store.verified.changed):
        if path not in damaged:
            yield entry_edited.find(
                what=(
                    f"{path}, which the next batch loads, was changed after Spark wrote it: its "
                    "checksum does not fit."
                ),
                how=f"Compare {path} with a backup.",
                follows_from=(path, sidecar_of(path)),
            )


def _progress(entry: str) -> str:
    is_entry = entry.startswith(("offsets/", "commits/"))
    return ", or with the progress of its batch" if is_entry else ""


_TOGETHER = timedelta(minutes=1)


@rule("HF218", Severity.RISK, Confidence.LIKELY, Effect.REPEATS, Goal.RESUME)
def two_writers(case: Case) -> Iterator[Finding]:
    """Two drivers wrote the same log entry at the same time."""
    if case.overview is None:
        return
    by_entry: dict[str, list[str]] = defaultdict(list)
    for path in case.checkpoint.leftovers:
        if path in case.times:
            home, _, _ = path.rpartition("/")
            by_entry[f"{home}/{parse_name(path).target}"].append(path)
    for entry, paths in by_entry.items():
        written = sorted(case.times[path] for path in paths)
        if len(written) < 2 or written[1] - written[0] > _TOGETHER:
            continue
        yield two_writers.find(
            what=(
                f"Two drivers wrote {entry} at the same time: {len(paths)} temporary files for it "
                "were written within a minute. The sink may hold that batch "
                "twice, or with another range."
            ),
            how="Find both drivers and stop one, then compare the sink with the newest ranges.",
            follows_from=tuple(paths),
        )


@rule("HF219", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def write_not_finished(case: Case) -> Iterator[Finding]:
    """A temporary file is there, and the file that it should become is not."""
    checkpoint = case.checkpoint
    if case.overview is None:
        return
    there = {f"offsets/{batch}" for batch in checkpoint.offsets}
    there |= {f"commits/{batch}" for batch in checkpoint.commits}
    there |= {
        f"{store.directory}/{file.name}"
        for operator in checkpoint.state
        for store in operator.stores
        for file in store.files
    }
    lost = [
        path
        for path in checkpoint.leftovers
        if f"{path.rpartition('/')[0]}/{parse_name(path).target}" not in there
    ]
    if lost:
        more = f" and {len(lost) - 1} more" if len(lost) > 1 else ""
        yield write_not_finished.find(
            what=(
                f"Spark will ignore {lost[0]}{more}: the file was not renamed to its final name, "
                "because its writer was stopped or the rename was lost."
            ),
            how="Nothing needs to be done, unless a file that the start needs is missing.",
            follows_from=tuple(lost[:20]),
        )


@rule("HF222", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def older_entry_unreadable(case: Case) -> Iterator[Finding]:
    """An older log entry is damaged or was changed; Spark does not read it."""
    checkpoint = case.checkpoint
    if case.overview is None:
        return
    edited = dict(changed_files(checkpoint))
    for path, sidecar in edited.items():
        if is_log_entry(path) and not decides_start(checkpoint, path):
            yield older_entry_unreadable.find(
                what=(
                    f"Spark will not read {path}, which was changed after Spark wrote it: its "
                    "checksum does not fit. The query cannot be taken back to that batch."
                ),
                how="Nothing needs to be done for a restart.",
                follows_from=(path, sidecar),
            )
    older = [*checkpoint.offsets.values()][:-2] + [*checkpoint.commits.values()][:-1]
    for entry in older:
        if isinstance(entry, Unparsed) and not entry.unread and entry.path not in edited:
            yield older_entry_unreadable.find(
                what=(
                    f"Spark will not read {entry.path}, which is damaged ({entry.reason}). The "
                    "query cannot be taken back to that batch."
                ),
                how="Nothing needs to be done for a restart.",
                follows_from=(entry.path,),
            )


@rule("HF223", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def log_has_gaps(case: Case) -> Iterator[Finding]:
    """Older log entries are missing; Spark does not read them."""
    checkpoint = case.checkpoint
    if case.overview is None:
        return
    newest = case.newest_planned
    for log, entries in (("offsets", checkpoint.offsets), ("commits", checkpoint.commits)):
        gaps = [batch for batch in _gaps(entries) if log == "commits" or batch < newest - 1]
        if gaps:
            yield log_has_gaps.find(
                what=(
                    f"Spark will not notice that {log}/ has no entry of {batches_text(gaps)}. The "
                    "query cannot be taken back to there."
                ),
                how="Nothing needs to be done for a restart, if you know why they are missing.",
                follows_from=(f"{log}/",),
            )


def _gaps(entries: Collection[int]) -> list[int]:
    if not entries or len(entries) > max(entries) - min(entries):
        return []
    # A damaged name can be any number: what lies between is not counted up to.
    first, last = min(entries), max(entries)
    return [batch for batch in range(max(first, last - 1_000), last) if batch not in entries]
