"""What the last error says about the driver and its batch."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.error_findings import error_rule, is_of_another
from holdfast.rules.rule import Finding, rule


@rule("HF920", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE, causes=(Cause.OTHER,))
def error_not_recognised(case: Case) -> Iterator[Finding]:
    """The text that was given has no error that Holdfast knows."""
    report = case.error
    if report is None or (report.last is not None and report.last.cause is not Cause.OTHER):
        return
    if report.last is not None:
        says = f"The last error is {report.last.condition}: {report.last.message}"
        what = f"{says} Holdfast does not know this error."
        line = report.last.line
    elif report.has_failure:
        what = f"The text of {report.lines:,} lines has an error that Holdfast does not know."
        line = report.lines
    else:
        what = (
            f"The text of {report.lines:,} lines has no error. The log is cut off, it is not the "
            "log of the driver, or the driver was ended from outside."
        )
        line = report.lines
    yield error_not_recognised.find(
        what=what,
        how="Give the log of the driver up to its end, or the complete message.",
        follows_from=(f"line {line:,} of the error",),
    )


@error_rule(
    "HF921",
    Severity.NOTE,
    Confidence.CERTAIN,
    Effect.NONE,
    Goal.NONE,
    causes=(
        Cause.KILLED,
        Cause.TRANSIENT,
    ),
)
def driver_was_ended(_case: Case) -> str:
    """The driver was ended from outside, or its run failed in passing."""
    return ""


@error_rule(
    "HF922",
    Severity.BLOCKS_RESTART,
    Confidence.LIKELY,
    Effect.FAILS,
    Goal.RESUME,
    causes=(
        Cause.BATCH_FAILS,
        Cause.OUT_OF_MEMORY,
        Cause.POISON_RECORD,
    ),
)
def batch_keeps_failing(_case: Case) -> str:
    """The same batch fails at every restart, in code, for memory or on one record."""
    return ""


@error_rule(
    "HF923",
    Severity.DATA_AT_RISK,
    Confidence.LIKELY,
    Effect.REPEATS,
    Goal.RESUME,
    causes=(
        Cause.TWO_DRIVERS,
        Cause.SAME_QUERY_ACTIVE,
    ),
)
def two_drivers_seen(_case: Case) -> str:
    """Two drivers wrote to one checkpoint, or offset entries were deleted."""
    return ""


@error_rule(
    "HF936",
    Severity.DATA_AT_RISK,
    Confidence.LIKELY,
    Effect.REPEATS,
    Goal.RESUME,
    causes=(Cause.SINK_FORGETS,),
)
def sink_forgets_its_batch(_case: Case) -> str:
    """The sink remembers its last batch in memory alone."""
    return ""


@rule("HF939", Severity.RISK, Confidence.CERTAIN, Effect.NONE, Goal.RESUME)
def error_of_another_checkpoint(case: Case) -> Iterator[Finding]:
    """The error that was given is of another query or checkpoint."""
    shown = is_of_another(case)
    if shown is None:
        return
    yield error_of_another_checkpoint.find(
        what=f"The error is of another checkpoint: it names {shown}.",
        how="Diagnose the checkpoint that the error names, or give the error of this stream.",
        follows_from=("metadata", "the error"),
    )
