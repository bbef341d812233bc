"""Who the checkpoint belongs to, and which Spark can read it."""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.layout import COMMITS, OFFSETS
from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Refuses, Resumes, RunsAgain
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import plan_command, resume_advice
from holdfast.rules.predicted import refusal
from holdfast.rules.rule import Finding, rule
from holdfast.spark_versions import KNOWN, version_text

_HOW_METADATA_UNREADABLE = "Restore `metadata`, with the same query id."


@refusal("HF101", Goal.RESUME)
def metadata_unreadable(case: Case) -> str:
    """The file `metadata` is damaged, and Spark refuses to start."""
    if case.root is None:
        return _HOW_METADATA_UNREADABLE
    return f"Run {plan_command(case, Goal.RESUME)}: it writes the query id of the record."


_HOW_METADATA_MISSING = (
    "Write `metadata` again, with the query id that the sink or the driver's log names."
)


@refusal("HF102", Goal.RESUME)
def metadata_missing(case: Case) -> str:
    """The file `metadata` is missing, and Spark 4.2 refuses to start."""
    if case.root is None:
        return _HOW_METADATA_MISSING
    return f"Run {plan_command(case, Goal.RESUME)}: it writes the query id of the record."


_HOW_CHECKPOINT_NOT_EMPTY = "Restore `offsets/` from a backup."


@refusal("HF103", Goal.RESUME)
def checkpoint_not_empty(case: Case) -> str:
    """Batch 0 needs an empty checkpoint, and this one is not empty."""
    logs = (f"{OFFSETS}/", f"{COMMITS}/")
    refused = case.next_start
    in_the_way = refused.follows_from if isinstance(refused, Refuses) else ()
    leftovers = {each for each in case.checkpoint.leftovers if each.startswith(logs)}
    if not leftovers.issuperset(in_the_way):
        return resume_advice(case, otherwise=_HOW_CHECKPOINT_NOT_EMPTY)
    return f"Run {plan_command(case, Goal.RESUME)}: it removes what a killed first batch left."


@refusal("HF104", Goal.RESUME)
def version_not_readable(_case: Case) -> str:
    """A file has a format that the Spark to be started does not know."""
    return "Start with a version of Spark that can read every file."


@refusal("HF105", Goal.RESUME)
def location_is_a_file(_case: Case) -> str:
    """The checkpoint location is a file."""
    return "Check `checkpointLocation`. If the path is right, move the file aside."


@rule("HF106", Severity.NOTE, Confidence.CERTAIN, Effect.NONE, Goal.NONE)
def older_spark_cannot_read(case: Case) -> Iterator[Finding]:
    """Older versions of Spark can no longer read the checkpoint."""
    readers = None if case.overview is None else case.overview.readers
    if readers is None or not readers.versions or len(readers.versions) == len(KNOWN):
        return
    oldest = version_text(readers.versions[0])
    yield older_spark_cannot_read.find(
        what=f"Spark before {oldest} will refuse the checkpoint: {readers.because[0]}.",
        how=f"Start with Spark {oldest} or later.",
        follows_from=readers.because,
    )


def _how_query_id_renewed(case: Case) -> str:
    if case.root is None:
        return "Write `metadata` again, with the query id that the sink or the driver's log names."
    return f"Run {plan_command(case, Goal.RESUME)}: it writes the query id of the record."


@rule("HF107", Severity.DATA_AT_RISK, Confidence.LIKELY, Effect.REPEATS, Goal.RESUME)
def query_id_renewed(case: Case) -> Iterator[Finding]:
    """The file `metadata` is missing, and Spark continues under a new query id."""
    start = case.next_start
    if case.overview is None or case.checkpoint.metadata is not None:
        return
    if not isinstance(start, Resumes | RunsAgain):
        return
    does = "write" if isinstance(start, RunsAgain) else "continue with"
    yield query_id_renewed.find(
        what=(
            f"Spark {version_text(case.overview.spark)} will {does} batch {start.batch_id} under a "
            "new query id, because `metadata` is missing. A sink that knows batches by the query "
            "id does not recognise those it holds."
        ),
        how=_how_query_id_renewed(case),
        accepting="the query gets a new id; a batch that the sink holds is written again",
        follows_from=("metadata", *start.follows_from),
    )
