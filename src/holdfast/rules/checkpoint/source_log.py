"""The log of a file source in the checkpoint."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import plan_command
from holdfast.rules.predicted import find_refusal, refusal, spark_will
from holdfast.rules.rule import Finding, rule


@refusal("HF311", Goal.RESUME)
def source_log_entry_missing(_case: Case) -> str:
    """The log of a file source lacks an entry that Spark reads at every start."""
    return "Restore `sources/` together with `offsets/`."


@refusal("HF312", Goal.RESUME)
def source_log_entry_unreadable(_case: Case) -> str:
    """An entry in the log of a file source is damaged."""
    return "Restore the entry from a backup or an object version."


@rule("HF313", Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS, Goal.RESUME)
def source_log_blocked_by_checksum(case: Case) -> Iterator[Finding]:
    """A checksum without its entry blocks the log of a file source."""
    command = plan_command(case, Goal.RESUME)
    how = f"Check that no query runs, then run {command}: it takes the `.crc` file away."
    return find_refusal(source_log_blocked_by_checksum, case, how=how)


@rule("HF314", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.REPEATS, Goal.RESUME)
def source_log_misplaced(case: Case) -> Iterator[Finding]:
    """A file in the log of a file source does not hold what its name says."""
    if case.overview is None:
        return
    for log in case.checkpoint.sources:
        for path in log.misplaced:
            yield source_log_misplaced.find(
                what=(
                    f"{spark_will(case)} take {path} as it is, although no entry has its number: "
                    "entries are missing, and their input files are read again."
                ),
                how=f"Restore {path} from a backup or an object version.",
                accepting="Spark reads the input files again that the log does not name",
                follows_from=(path,),
            )
