"""What the last error says about the sources."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import reset_advice
from holdfast.rules.error_findings import error_rule, find_error
from holdfast.rules.rule import Finding, rule


@error_rule(
    "HF924",
    Severity.DATA_AT_RISK,
    Confidence.LIKELY,
    Effect.LOSES,
    Goal.BACKFILL,
    causes=(
        Cause.KAFKA_EXPIRED,
        Cause.KAFKA_RECREATED,
        Cause.KAFKA_SUBSCRIPTION,
    ),
)
def kafka_refused_offsets(_case: Case) -> str:
    """Kafka does not have what the checkpoint needs."""
    return ""


_REPLACED = (Cause.DELTA_OTHER_TABLE, Cause.DELTA_HISTORY_GONE)
_CHANGED = (Cause.TABLE_NOT_APPEND,)


def _reset(case: Case) -> str:
    return "" if case.root is None else f"To fill the output again, {reset_advice(case)}."


@rule(
    "HF927",
    Severity.DATA_AT_RISK,
    Confidence.LIKELY,
    Effect.FAILS,
    Goal.RESET,
    causes=(*_REPLACED, *_CHANGED),
)
def table_source_changed(case: Case) -> Iterator[Finding]:
    """The table that the stream reads was replaced, cleaned up or updated."""
    yield from find_error(case, table_source_changed, _REPLACED, then=_reset(case))
    yield from find_error(case, table_source_changed, _CHANGED, goal=Goal.BACKFILL)


@error_rule(
    "HF928",
    Severity.NOTE,
    Confidence.CERTAIN,
    Effect.NONE,
    Goal.NONE,
    causes=(Cause.ADDED_COLUMNS,),
)
def stopped_for_new_columns(_case: Case) -> str:
    """The query stopped for a schema change, and a restart is the right answer."""
    return ""


@error_rule(
    "HF929",
    Severity.BLOCKS_RESTART,
    Confidence.LIKELY,
    Effect.FAILS,
    Goal.RESUME,
    causes=(Cause.DELTA_SCHEMA,),
)
def schema_change_not_followed(_case: Case) -> str:
    """A column of the source was renamed, dropped or retyped."""
    return ""


@error_rule(
    "HF935",
    Severity.DATA_AT_RISK,
    Confidence.LIKELY,
    Effect.LOSES,
    Goal.BACKFILL,
    causes=(
        Cause.SNAPSHOT_EXPIRED,
        Cause.POSITION_EXPIRED,
        Cause.INPUT_FILE_GONE,
    ),
)
def source_position_expired(_case: Case) -> str:
    """The source no longer has the position in the checkpoint."""
    return ""


@error_rule(
    "HF938",
    Severity.BLOCKS_RESTART,
    Confidence.LIKELY,
    Effect.FAILS,
    Goal.RESUME,
    causes=(
        Cause.SOURCES_CHANGED,
        Cause.NO_CHECKPOINT,
    ),
)
def sources_do_not_match(_case: Case) -> str:
    """The query has other sources than the checkpoint."""
    return ""
