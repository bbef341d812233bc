"""What the last error says about the checkpoint."""

from __future__ import annotations

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import plan_command, reset_advice
from holdfast.rules.error_findings import error_rule


@error_rule(
    "HF925",
    Severity.BLOCKS_RESTART,
    Confidence.LIKELY,
    Effect.FAILS,
    Goal.RESUME,
    causes=(
        Cause.STATE_FILE_MISSING,
        Cause.STATE_FILES_DISAGREE,
        Cause.NOT_CONSUMED,
    ),
)
def state_not_loadable(_case: Case) -> str:
    """A state file is missing or damaged."""
    return ""


@error_rule(
    "HF926",
    Severity.BLOCKS_RESTART,
    Confidence.LIKELY,
    Effect.FAILS,
    Goal.RESET,
    causes=(
        Cause.STATE_SCHEMA,
        Cause.OPERATOR_CHANGED,
    ),
)
def state_incompatible(case: Case) -> str:
    """The code's state does not fit the checkpoint's."""
    return "" if case.root is None else f"For the new code, {reset_advice(case)}."


@error_rule(
    "HF930",
    Severity.BLOCKS_RESTART,
    Confidence.LIKELY,
    Effect.FAILS,
    Goal.RESUME,
    causes=(Cause.NEWER_LOG,),
)
def checkpoint_of_newer_version(_case: Case) -> str:
    """A newer version wrote the checkpoint."""
    return ""


@error_rule(
    "HF931",
    Severity.BLOCKS_RESTART,
    Confidence.LIKELY,
    Effect.FAILS,
    Goal.RESUME,
    causes=(Cause.UNFINISHED_REPARTITION,),
)
def unfinished_repartition_refused(_case: Case) -> str:
    """A repartition of the state did not end."""
    return ""


@error_rule(
    "HF932",
    Severity.RISK,
    Confidence.CERTAIN,
    Effect.FAILS,
    Goal.RESUME,
    causes=(Cause.CANNOT_RECOVER,),
)
def advice_deletes_offsets(_case: Case) -> str:
    """The error advises to delete offsets/, and that must not be done."""
    return ""


@error_rule(
    "HF933",
    Severity.RISK,
    Confidence.LIKELY,
    Effect.NONE,
    Goal.RESUME,
    causes=(Cause.RENAME_FAILED,),
)
def checkpoint_write_failed(_case: Case) -> str:
    """The store did not complete a write of the checkpoint."""
    return ""


@error_rule(
    "HF934",
    Severity.BLOCKS_RESTART,
    Confidence.LIKELY,
    Effect.FAILS,
    Goal.RESET,
    causes=(Cause.FILE_SINK_LOG,),
)
def file_sink_log_lost(_case: Case) -> str:
    """The log of the file sink lacks an entry."""
    return ""


@error_rule(
    "HF937",
    Severity.BLOCKS_RESTART,
    Confidence.LIKELY,
    Effect.FAILS,
    Goal.RESUME,
    causes=(
        Cause.LOG_GAP,
        Cause.LOG_DAMAGED,
        Cause.METADATA_GONE,
        Cause.PARTLY_DELETED,
    ),
)
def checkpoint_log_broken(case: Case) -> str:
    """A log of the checkpoint has a gap, is cut off or was deleted."""
    command = plan_command(case, Goal.RESUME)
    return f"Or run {command}: it writes again what is known, and says so if nothing is."
