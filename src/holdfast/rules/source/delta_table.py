"""Delta sources that were replaced, altered or rewritten."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.printable import printable
from holdfast.rules.commands import KEEP, reset_advice
from holdfast.rules.delta_sources import (
    delta_sources,
    log_files,
    named,
    newest_entry,
    oldest_offset,
)
from holdfast.rules.rule import Finding, rule
from holdfast.sources.delta.found import SchemaChange, SourceCommit
from holdfast.sources.kind import Amount
from holdfast.wording import count


@rule("HF340", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESET)
def delta_source_recreated(case: Case) -> Iterator[Finding]:
    """The Delta table that the stream reads is gone, or is another one."""
    for probe, found in delta_sources(case):
        if found.newest >= 0 and found.table_id in (None, found.needed_id):
            continue
        there = (
            "does not exist"
            if found.newest < 0
            else f"now has the id {printable(str(found.table_id))}"
        )
        yield delta_source_recreated.find(
            what=(
                f"Source {probe.source} was the Delta table with the id "
                f"{printable(found.needed_id)}; {found.display_name} {there}. Spark refuses to "
                "start."
            ),
            how=(
                "Check the path. If the table was created again and has the old rows too, "
                f"{reset_advice(case)}. If it has only new rows, keep the output: --output {KEEP}."
            ),
            accepting="no row is read: Spark does not start",
            follows_from=(newest_entry(case), f"{found.display_name}, its metadata"),
        )


@rule("HF343", Severity.BLOCKS_RESTART, Confidence.LIKELY, Effect.FAILS, Goal.BACKFILL)
def delta_source_not_append(case: Case) -> Iterator[Finding]:
    """The source was changed by more than appends since the stream read it."""
    for probe, found in delta_sources(case):
        changes = [each for each in found.pending if not each.is_append]
        if not changes:
            continue
        rows = [each.new_rows for each in changes if each.new_rows]
        skipped = f" With skipChangeCommits {count(sum(rows), 'row')} of them never arrive."
        files = sum(each.removed_files for each in changes)
        yield delta_source_not_append.find(
            what=(
                f"{found.display_name} was changed by {named(changes)} since source {probe.source} "
                "read "
                f"it, with {count(files, 'file')} removed. Without an option that allows it, Spark "
                f"fails at every start.{skipped if rows else ''}"
            ),
            how=(
                "Set skipChangeCommits on the source and write the changed rows with a batch job, "
                "or read the change data feed."
            ),
            follows_from=(newest_entry(case), *log_files(found, changes[0].version)),
        )


@rule("HF344", Severity.RISK, Confidence.LIKELY, Effect.LOSES, Goal.BACKFILL)
def delta_source_changes_skipped(case: Case) -> Iterator[Finding]:
    """The stream passed over versions with inserted or updated rows."""
    for probe, found in delta_sources(case):
        oldest = oldest_offset(case, probe.source)
        if oldest is None or not found.is_same_table:
            continue
        first = oldest.version + (1 if oldest.initial_snapshot else 0)
        passed = [
            each
            for each in found.commits
            if first <= each.version < found.needed_version and not each.is_append and _brings(each)
        ]
        if not passed:
            continue
        rows = [each.new_rows for each in passed if each.new_rows is not None]
        number = f" with {count(sum(rows), 'row')}" if rows else ""
        yield delta_source_changes_skipped.find(
            what=(
                f"Source {probe.source} has passed {named(passed)} of {found.display_name}, which "
                f"inserted or updated rows{number}. With skipChangeCommits those rows are not in "
                "the sink, and a restart does not bring them."
            ),
            how="Write the rows of these versions with a batch job.",
            follows_from=(newest_entry(case), *log_files(found, passed[0].version)),
        )


def _brings(commit: SourceCommit) -> bool:
    """Return whether a commit has rows that are new: a DELETE only copies the others."""
    return commit.added_files > 0 and commit.operation != "DELETE" and commit.new_rows != 0


@rule("HF345", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.RESUME)
def delta_source_columns_added(case: Case) -> Iterator[Finding]:
    """Columns were added to the source: a restart is the right answer."""
    for probe, found in delta_sources(case):
        changes = [each for each in found.pending if each.schema is not SchemaChange.NONE]
        if not changes or any(each.schema is not SchemaChange.ADDED for each in changes):
            continue
        yield delta_source_columns_added.find(
            what=(
                f"Columns were added to {found.display_name} in version {changes[0].version}. If "
                "source "
                f"{probe.source} stopped for that, a restart is the right answer: Spark then reads "
                "the new columns too."
            ),
            how="Restart the query once, with a sink that takes the new columns.",
            follows_from=(newest_entry(case), *log_files(found, changes[0].version)),
        )


_SCHEMA_LOG = "_schema_log_"


@rule("HF346", Severity.BLOCKS_RESTART, Confidence.LIKELY, Effect.FAILS, Goal.RESUME)
def delta_source_columns_changed(case: Case) -> Iterator[Finding]:
    """Columns of the source were renamed, dropped or changed in type."""
    has_log = any(_SCHEMA_LOG in path for path in case.checkpoint.foreign)
    for probe, found in delta_sources(case) if not has_log else ():
        changes = [each for each in found.pending if each.schema is SchemaChange.OTHER]
        if not changes:
            continue
        yield delta_source_columns_changed.find(
            what=(
                f"Columns of {found.display_name} were renamed, dropped or changed in type by "
                f"{named(changes)} since source {probe.source} read it. Without a schema log Spark "
                "fails at every start."
            ),
            how=(
                "Set schemaTrackingLocation on the source, below the checkpoint, and allow the "
                "change with the setting that Spark's message names."
            ),
            follows_from=(newest_entry(case), *log_files(found, changes[0].version)),
        )


@rule("HF347", Severity.DATA_AT_RISK, Confidence.CERTAIN, Effect.REPEATS, Goal.RESUME)
def delta_source_restored(case: Case) -> Iterator[Finding]:
    """RESTORE brought rows back that the stream has read: it reads them again."""
    for probe, found in delta_sources(case):
        restores = [
            each
            for each in found.pending
            if each.operation == "RESTORE" and each.is_append and each.added_files
        ]
        if not restores:
            continue
        known = [each.added_rows for each in restores if each.added_rows is not None]
        rows = sum(known) if len(known) == len(restores) else None
        files = sum(each.added_files for each in restores)
        number = count(files, "file") if rows is None else count(rows, "row")
        yield delta_source_restored.find(
            what=(
                f"RESTORE in version {restores[0].version} of {found.display_name} brought back "
                f"{number} "
                f"that source {probe.source} has read before. Spark reads them again as new rows."
            ),
            how=(
                "Start a new checkpoint with startingVersion after the RESTORE, or let the sink "
                "recognise rows by a key."
            ),
            accepting="these rows are duplicated in a sink that appends",
            follows_from=(newest_entry(case), *log_files(found, restores[0].version)),
            amount=None if rows is None else Amount(number=rows, unit="record"),
        )
