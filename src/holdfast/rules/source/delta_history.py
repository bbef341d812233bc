"""How much of its history a Delta source still has."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Resumes
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import reset_advice
from holdfast.rules.delta_sources import delta_sources, log_files, newest_entry, offset_after
from holdfast.rules.rule import Finding, rule
from holdfast.sources.delta.found import DeltaSource
from holdfast.sources.probe import SourceProbe
from holdfast.wording import count


@rule("HF341", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESET)
def delta_source_history_gone(case: Case) -> Iterator[Finding]:
    """The log of the source no longer has a version that a start reads."""
    for probe, found in delta_sources(case):
        if not found.is_same_table:
            continue
        again = _listed_again(case, probe, found)
        if found.missing:
            yield _unread(case, probe, found)
        elif again is not None and found.earliest is not None:
            yield delta_source_history_gone.find(
                what=(
                    f"The log of {found.display_name} begins with version {found.earliest}, and "
                    "the last "
                    f"batch read source {probe.source} from version {again} on. Spark lists those "
                    "versions again at the start and fails, although they were read."
                ),
                how="Start once with failOnDataLoss=false on this source: no new version is gone.",
                accepting="no row is read; with failOnDataLoss=false nothing is lost",
                follows_from=(newest_entry(case), *log_files(found, again)),
            )


def _unread(case: Case, probe: SourceProbe, found: DeltaSource) -> Finding:
    missing = found.missing
    oldest = "" if found.earliest is None else f" The oldest that is there is {found.earliest}."
    return delta_source_history_gone.find(
        what=(
            f"Source {probe.source} continues with version {found.needed_version} of "
            f"{found.display_name}, and its log lacks {count(len(missing), 'version')} from "
            f"{missing[0]} on.{oldest} Spark fails at the start."
        ),
        how=(
            "Start a new checkpoint with startingVersion set to the oldest version that is there, "
            f"and write the rows between with a batch job. Or {reset_advice(case)}: it reads the "
            "rows that the table has now."
        ),
        accepting="no row is read; with failOnDataLoss=false the missing versions are skipped",
        follows_from=(newest_entry(case), *log_files(found, missing[0])),
    )


def _listed_again(case: Case, probe: SourceProbe, found: DeltaSource) -> int | None:
    """Return where the last batch began, if the log does not reach back to there."""
    if not isinstance(case.next_start, Resumes) or found.earliest is None:
        return None
    began = offset_after(case, case.newest_planned - 1, probe.source)
    if began is None or began.initial_snapshot or began.version >= found.needed_version:
        return None
    return began.version if began.version < found.earliest else None


@rule("HF342", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.BACKFILL)
def delta_source_files_gone(case: Case) -> Iterator[Finding]:
    """Data files of versions that the stream has not read are deleted."""
    for probe, found in delta_sources(case):
        if not found.is_same_table or not found.files_gone or found.gone_version is None:
            continue
        yield delta_source_files_gone.find(
            what=(
                f"{found.files_gone} of {found.files_checked} data files that were checked are "
                f"gone from {found.display_name}; source {probe.source} has yet to read "
                f"{count(found.files, 'file')}. Spark fails in the batch that reads version "
                f"{found.gone_version}."
            ),
            how=(
                "Start a new checkpoint with startingVersion after the damaged versions, and write "
                "their rows from the current table with a batch job."
            ),
            accepting="no row of that batch is read, and Spark fails at every start",
            follows_from=(newest_entry(case), *log_files(found, found.gone_version)),
        )


@rule("HF348", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.BACKFILL)
def delta_source_behind_checkpoint(case: Case) -> Iterator[Finding]:
    """The source has fewer versions than the stream has read: an old copy."""
    for probe, found in delta_sources(case):
        if not found.is_same_table or found.table_id is None:
            continue
        if found.newest + 1 >= found.needed_version:
            continue
        yield delta_source_behind_checkpoint.find(
            what=(
                f"Source {probe.source} has read {found.display_name} up to version "
                f"{found.needed_version - 1}, but the table ends with version {found.newest}. "
                "Spark fails at the start; before Delta 4.4 it reads nothing that is written until "
                f"version {found.needed_version}."
            ),
            how=(
                "Restore the newest copy of the table, or start a new checkpoint with "
                "startingVersion after what the old copy had."
            ),
            accepting=f"no row is read before version {found.needed_version}",
            follows_from=(newest_entry(case), *log_files(found, found.newest)),
        )


_SOON = timedelta(hours=24)


@rule("HF349", Severity.RISK, Confidence.CERTAIN, Effect.NONE, Goal.RESUME)
def delta_source_expires_soon(case: Case) -> Iterator[Finding]:
    """What the stream has yet to read can be deleted within a day."""
    for probe, found in delta_sources(case):
        left = probe.lossless_for
        if left is None or not timedelta(0) < left <= _SOON or not found.pending:
            continue
        hours, minutes = left.seconds // 3600 + left.days * 24, left.seconds % 3600 // 60
        yield delta_source_expires_soon.find(
            what=(
                f"Source {probe.source} has {count(len(found.pending), 'version')} of "
                f"{found.display_name} to read. A restart is lossless for another {hours} h "
                f"{minutes} min: {probe.lossless_by}."
            ),
            how=(
                "Start the query before that, or raise delta.logRetentionDuration and "
                "delta.deletedFileRetentionDuration now."
            ),
            follows_from=(newest_entry(case), *log_files(found, found.pending[0].version)),
        )


@rule("HF350", Severity.BLOCKS_RESTART, Confidence.LIKELY, Effect.FAILS, Goal.RESUME)
def delta_source_commit_damaged(case: Case) -> Iterator[Finding]:
    """A commit that the stream has yet to read is cut off or not JSON."""
    for probe, found in delta_sources(case):
        damaged = [each for each in found.damaged if each >= found.needed_version]
        if not found.is_same_table or not damaged:
            continue
        yield delta_source_commit_damaged.find(
            what=(
                f"The commit of version {damaged[0]} of {found.display_name} is damaged, and "
                f"source {probe.source} has yet to read it. Spark fails at every start."
            ),
            how="Restore the file from a backup or from an older version of the object.",
            follows_from=(newest_entry(case), *log_files(found, damaged[0])),
        )
