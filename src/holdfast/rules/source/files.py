"""File sources."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.file_evidence import LARGE_LOG, file_sources, holds_batch
from holdfast.rules.file_paths import find_other_paths
from holdfast.rules.rule import Finding, rule
from holdfast.sources.files.found import MAX_FILE_AGE
from holdfast.sources.kind import Amount
from holdfast.wording import count


@rule("HF370", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.LOSES, Goal.RESUME)
def file_source_pending_files_gone(case: Case) -> Iterator[Finding]:
    """Files of a batch that is not committed are gone."""
    pending = case.newest_planned
    if holds_batch(case, pending) or pending <= case.newest_committed:
        return
    for source, found in file_sources(case):
        gone = found.pending.gone
        if not gone:
            continue
        yield file_source_pending_files_gone.find(
            what=(
                f"Spark runs batch {pending} again without {gone:,} of its input files "
                f"({found.pending}): {found.pending.first_gone} does not exist any more. Spark "
                "reports no error, and the rows are lost."
            ),
            how="Restore the files at the same paths before you start the query.",
            accepting=f"the rows of {count(gone, 'missing input file')} never reach the sink",
            amount=Amount(number=gone, unit="file"),
            follows_from=(f"sources/{source}", f"offsets/{pending}"),
        )


@rule("HF371", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.LOSES, Goal.BACKFILL)
def file_source_old_files_ignored(case: Case) -> Iterator[Finding]:
    """Files that arrived with an old modification time are never read."""
    for source, found in file_sources(case):
        number = found.listed.too_old
        if not number:
            continue
        yield file_source_old_files_ignored.find(
            what=(
                f"Spark will never read {count(number, 'file')} in {found.directory} that the "
                f"log of source {source} does not list, such as {found.listed.first_too_old}. It "
                "ignores files more than 7 days older than the newest one it has read "
                f"({found.listed.files:,} files listed)."
            ),
            how=(
                "Copy the files to new names with a current modification time, or load them once "
                "with a batch job."
            ),
            accepting="the files stay unread, as before",
            amount=Amount(number=number, unit="file"),
            follows_from=(f"sources/{source}", found.directory),
        )


@rule("HF372", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.LOSES, Goal.BACKFILL)
def file_source_future_timestamp(case: Case) -> Iterator[Finding]:
    """One file with a modification time in the future hides every file that arrives."""
    limit_ms = int(MAX_FILE_AGE.total_seconds() * 1000)
    for source, found in file_sources(case):
        if found.future_ms <= limit_ms:
            continue
        days = (found.future_ms - limit_ms) / 86_400_000
        yield file_source_future_timestamp.find(
            what=(
                f"Spark ignores every file that arrives in {found.directory} for another "
                f"{days:,.1f} days: {found.newest_path} is in the log of source {source} with a "
                f"time {found.future_ms / 86_400_000:,.1f} days in the future, and Spark ignores "
                "files more than 7 days older than that."
            ),
            how=(
                f"Set the source's option maxFileAge above {found.future_ms // 86_400_000 + 1}d, "
                "and load the files that were ignored once with a batch job."
            ),
            accepting="new files stay unread, as before",
            follows_from=(f"sources/{source}",),
        )


@rule("HF373", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.LOSES, Goal.BACKFILL)
def file_source_files_changed(case: Case) -> Iterator[Finding]:
    """Input files were written again after Spark read them."""
    for source, found in file_sources(case):
        number = found.read.changed
        if not number:
            continue
        yield file_source_files_changed.find(
            what=(
                f"Spark does not read {count(number, 'file')} in {found.directory} again, such "
                f"as {found.read.first_changed}, although they were written again after it read "
                f"them ({found.read}): what was added since is lost."
            ),
            how="Compare those files with the sink, and load what is missing with a batch job.",
            accepting="what was added to the files stays unread",
            amount=Amount(number=number, unit="file"),
            follows_from=(f"sources/{source}", found.read.first_changed),
        )


@rule("HF374", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.REPEATS, Goal.RESUME)
def file_source_path_changed(case: Case) -> Iterator[Finding]:
    """A pattern of paths names the files in another way, so Spark reads them all again."""
    for each in find_other_paths(case):
        if not each.is_glob:
            continue
        swapped = (
            ""
            if each.swapped_with is None
            else (
                f" That is what source {each.swapped_with} has read so far: the two were swapped."
            )
        )
        yield file_source_path_changed.find(
            what=(
                f"Source {each.source} now reads {each.path}, but its log holds files of "
                f"{each.logged}.{swapped} Spark takes every file for a new one: if they are the "
                f"same files, it reads them again ({each.logged_files:,} in the log)."
            ),
            how=f"Start the query with the path that reads {each.logged}.",
            accepting="everything that the new path matches is read from its beginning",
            follows_from=(f"sources/{each.source}",),
        )


@rule("HF375", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESUME)
def file_source_base_path_changed(case: Case) -> Iterator[Finding]:
    """The query reads another directory than the files in its log are in."""
    for each in find_other_paths(case):
        if each.is_glob:
            continue
        swapped = (
            ""
            if each.swapped_with is None
            else (
                f" That is what source {each.swapped_with} has read so far: the two were swapped."
            )
        )
        yield file_source_base_path_changed.find(
            what=(
                f"Source {each.source} now reads {each.path}, but the last file in its log is in "
                f"{each.logged}.{swapped} Spark fails with Wrong basePath before it runs a batch."
            ),
            how=f"Start the query with the directory of {each.logged}.",
            accepting="Spark fails in the same way; nothing is written",
            follows_from=(f"sources/{each.source}",),
        )


@rule("HF376", Severity.RISK, Confidence.LIKELY, Effect.NONE, Goal.RESET)
def file_source_read_twice(case: Case) -> Iterator[Finding]:
    """Files are in the log under two addresses, so Spark has read them twice."""
    for source, found in file_sources(case):
        if not found.repeated:
            continue
        yield file_source_read_twice.find(
            what=(
                f"Spark has read {count(found.repeated, 'file')} of source {source} twice: the "
                f"log names them under {' and under '.join(found.roots)}."
            ),
            how="Look for duplicate rows in the sink, and keep the address that is used now.",
            amount=Amount(number=found.repeated, unit="file"),
            follows_from=(f"sources/{source}",),
        )


@rule("HF377", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def file_source_inputs_gone(case: Case) -> Iterator[Finding]:
    """Input files that Spark has read do not exist any more."""
    for source, found in file_sources(case):
        if not found.read.gone:
            continue
        yield file_source_inputs_gone.find(
            what=(
                "A restart does not need them, but a reset or a replay cannot read everything "
                f"again: source {source} has lost {count(found.read.gone, 'input file')} "
                f"({found.read}), such as {found.read.first_gone}."
            ),
            how="Restore the files before you reset or replay, or read the archive directory.",
            amount=Amount(number=found.read.gone, unit="file"),
            follows_from=(f"sources/{source}",),
        )


@rule("HF378", Severity.RISK, Confidence.CERTAIN, Effect.NONE, Goal.RESUME)
def file_source_log_large(case: Case) -> Iterator[Finding]:
    """The source's log has grown so large that every tenth batch is slow."""
    for source, found in file_sources(case):
        if found.compact_bytes <= LARGE_LOG:
            continue
        yield file_source_log_large.find(
            what=(
                f"Spark reads {found.compact_bytes >> 20:,} MB of log for source {source} at every "
                "start, and writes them again every tenth batch."
            ),
            how="Give the driver memory for it, or plan a reset with a new checkpoint.",
            follows_from=(f"sources/{source}",),
        )
