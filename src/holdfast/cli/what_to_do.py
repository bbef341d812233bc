"""The next action after a verdict, in one sentence; it names only commands and pages that exist."""

from __future__ import annotations

from holdfast.evidence.guard_record import GuardRecord
from holdfast.evidence.needed_entries import lacks_settings
from holdfast.evidence.outcomes import (
    Refuses,
    Resumes,
    RunsAgain,
    StartsFresh,
    Unknown,
    UnknownCause,
)
from holdfast.evidence.overview import Overview
from holdfast.evidence.refusal_codes import RefusalCode
from holdfast.evidence.verdict import has_run
from holdfast.evidence.wording import batches

RESET_GUIDE = "docs/guides/reset.md"
_OR_RESET = f"If there is no backup, reset the stream ({RESET_GUIDE})."
_CHECKSUM = "Check that no query runs, move {path} aside, then inspect again."
_RESTORE = "Restore {path} from a backup. " + _OR_RESET

_REFUSED: dict[RefusalCode, str] = {
    RefusalCode.METADATA_UNREADABLE: "Restore the file metadata from a backup, or write "
    '{{"id":"<query id>"}} into it: Holdfast\'s record and the driver\'s log have the query id.',
    RefusalCode.METADATA_MISSING: "Restore the file metadata from a backup, or write "
    '{{"id":"<query id>"}} into it: Holdfast\'s record and the driver\'s log have the query id.',
    RefusalCode.CHECKPOINT_NOT_EMPTY: "If {path} is a .tmp file, move it aside. Otherwise restore "
    "offsets/ from a backup. " + _OR_RESET,
    RefusalCode.VERSION_NOT_READABLE: "Start with a Spark version that is listed under "
    "`readable by`.",
    RefusalCode.LOCATION_IS_A_FILE: "Check checkpointLocation. If the path is right, move the file "
    "aside.",
    RefusalCode.OFFSET_LOG_EMPTY: "Restore offsets/ from a backup. Do not delete commits/: Spark "
    "would begin with batch 0. " + _OR_RESET,
    RefusalCode.ENTRY_UNREADABLE: _RESTORE,
    RefusalCode.PREVIOUS_OFFSET_ENTRY_MISSING: "Restore the missing entry from a backup. Do not "
    "delete {path}: the sink would skip or duplicate a batch. " + _OR_RESET,
    RefusalCode.ENTRY_WITH_OTHER_SOURCES: _RESTORE,
    RefusalCode.ENTRY_WITHOUT_SETTINGS: _RESTORE,
    RefusalCode.ENTRY_BLOCKED_BY_CHECKSUM: _CHECKSUM,
    RefusalCode.NAME_TAKEN: "Check that no query runs, then move {path} out of the checkpoint.",
    RefusalCode.SOURCE_LOG_ENTRY_MISSING: _RESTORE,
    RefusalCode.SOURCE_LOG_ENTRY_UNREADABLE: _RESTORE,
    RefusalCode.SOURCE_LOG_BLOCKED_BY_CHECKSUM: _CHECKSUM,
    RefusalCode.QUERY_CHANGED: f"Start the query as it was, or reset the stream ({RESET_GUIDE}).",
    RefusalCode.STATE_SCHEMA_UNREADABLE: _RESTORE,
    RefusalCode.STATE_SCHEMA_ELSEWHERE: "Move the checkpoint back to where its state was "
    f"written. If that is impossible, reset the stream ({RESET_GUIDE}).",
    RefusalCode.STATE_BLOCKED_BY_CHECKSUM: "Restore the file that {path} belongs to, or move "
    "{path} aside while no query runs.",
    RefusalCode.STATE_MISSING: "Restore state/ from a backup. " + _OR_RESET,
    RefusalCode.STATE_OPERATOR_MISSING: _RESTORE,
    RefusalCode.STATE_FILES_NOT_NAMED: _RESTORE,
    RefusalCode.STATE_OF_ANOTHER_BATCH: "Restore the newest entries of commits/ from a backup. "
    + _OR_RESET,
    RefusalCode.STATE_FILE_DAMAGED: _RESTORE,
    RefusalCode.STATE_FILE_MISSING: _RESTORE,
    RefusalCode.PARTITIONS_NOT_PINNED: "Restore {path} from a backup, or start with Spark 4.2.1: "
    "only 4.2.0 refuses.",
    RefusalCode.REPARTITION_NOT_FINISHED: "Finish the repartitioning with the same number of "
    "partitions, or restore {path} from a backup.",
}
_UNKNOWN: dict[UnknownCause, str] = {
    UnknownCause.UNREAD: "Run this command as an account that may read {path}.",
    UnknownCause.NOT_A_DIRECTORY: "If {path} is a link, copy the directory to its place. If it is "
    "a file, restore the directory from a backup.",
    UnknownCause.ASYNC_PROGRESS: "Start the query with async progress tracking, as before.",
    UnknownCause.CONTINUOUS: "Start the query with the continuous trigger, as before.",
    UnknownCause.STATE_ABSENT: "If the query is stateful, restore state/ from a backup. If it is "
    "stateless, start it.",
    UnknownCause.STATE_UNCHECKED: "Run `holdfast inspect` on this checkpoint alone: it checks all "
    "of state/.",
}


def say_what_to_do(overview: Overview, record: GuardRecord | None = None) -> str:
    """Return one sentence with the next action, or two where the first depends on a backup.

    Args:
        overview: With the prediction.
        record: Of the stream, where Holdfast guards it.
    """
    if record is not None and (nothing := _why_nothing(overview, record)):
        return f"Nothing: {nothing}."
    match found := overview.next_start:
        case Refuses(code=code):
            said = _REFUSED[code].format(path=_blamed(found))
        case Unknown(cause=cause):
            said = _UNKNOWN[cause].format(path=found.follows_from[0])
        case StartsFresh():
            said = _begin(overview, record)
        case RunsAgain(rereads=(), then=None):
            said = _run_again(overview, found, record)
        case Resumes(rereads=(), then=None):
            said = f"Nothing. Start the query{_if_stateless(found)}."
        case Resumes() | RunsAgain():
            said = _repair(overview, found)
    return said


def _why_nothing(overview: Overview, record: GuardRecord) -> str | None:
    """Say why the record leaves nothing to do; None when the checkpoint decides."""
    if record.is_replaced:
        newest = f"generation {record.newest_generation} of {record.stream}"
        return f"{newest} replaced this checkpoint"
    match overview.next_start:
        case Resumes(rereads=(), then=None) | RunsAgain(rereads=(), then=None):
            return f"{record.stream} is running" if record.is_running else None
        case _:
            return None


def _blamed(found: Refuses) -> str:
    """Return the file to act on: a checksum is named after the entries that lead to it."""
    files = found.follows_from or ("",)
    return files[-1] if _REFUSED[found.code] == _CHECKSUM else files[0]


def _begin(overview: Overview, record: GuardRecord | None) -> str:
    if overview.checkpoint.is_empty and record is not None and record.run is not None:
        return (
            f"Restore the checkpoint from a backup: {record.stream} has run, and its checkpoint is "
            f"gone. {_OR_RESET} hf.start refuses it until then."
        )
    if overview.checkpoint.is_empty:
        return "Check the path. If the query has never run, start it."
    if has_run(overview.checkpoint):
        return f"Restore offsets/ from a backup. {_OR_RESET}"
    return "Nothing, if the query has never run. Start it."


def _run_again(overview: Overview, found: RunsAgain, record: GuardRecord | None) -> str:
    if found.passed_over:
        among = batches([*found.passed_over, found.batch_id])
        return f"Check which of the batches {among} are in the sink before you start the query."
    if record is not None and record.recognises_batches(overview.checkpoint):
        return (
            f"Nothing. Start {record.stream} with hf.start: the ledger in its sink prevents "
            "duplicates. Plain Spark would ignore the ledger."
        )
    return (
        f"Nothing, if the sink is idempotent. Otherwise check whether batch {found.batch_id} is in "
        f"the sink before you start the query{_if_stateless(found)}."
    )


def _repair(overview: Overview, found: Resumes | RunsAgain) -> str:
    """Say what repairs logs with which Spark would repeat data, or fail after a batch."""
    if found.then is None:
        return f"Restore offsets/{max(overview.checkpoint.offsets)} from a backup. {_OR_RESET}"
    if found.batch_id in overview.checkpoint.commits:
        return f"Restore the deleted entries of offsets/ from a backup. {_OR_RESET}"
    if lacks_settings(overview.checkpoint, found.batch_id):
        return _REFUSED[RefusalCode.ENTRY_WITHOUT_SETTINGS].format(path=f"offsets/{found.batch_id}")
    return _CHECKSUM.format(path=f"commits/.{found.batch_id}.crc")


def _if_stateless(found: Resumes | RunsAgain) -> str:
    return "" if found.unless is None else "; if it is stateful, restore state/ first"
