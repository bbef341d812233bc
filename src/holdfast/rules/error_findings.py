"""What the last error of Spark says, and whether the checkpoint confirms it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from functools import wraps

from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.evidence.case import Case
from holdfast.evidence.error_causes import Cause
from holdfast.evidence.spark_error import SparkError
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Rule, rule

_OF_THE_BATCH = (
    Cause.BATCH_FAILS,
    Cause.OUT_OF_MEMORY,
    Cause.POISON_RECORD,
    Cause.NOT_CONSUMED,
)


def error_rule(  # noqa: PLR0913, PLR0917 - the grades of a rule, and its causes
    code: str,
    severity: Severity,
    confidence: Confidence,
    effect: Effect,
    goal: Goal,
    *,
    causes: tuple[Cause, ...],
) -> Callable[[Callable[[Case], str]], Rule]:
    """Make a rule of causes of an error.

    The function returns a sentence that follows the remedy of the cause, a command of this stream;
    an empty one where the remedy says all.
    """

    def make(then: Callable[[Case], str]) -> Rule:
        @wraps(then)
        def judge(case: Case) -> Iterator[Finding]:
            return find_error(case, made, causes, then=then(case))

        made = rule(code, severity, confidence, effect, goal, causes=causes)(judge)
        return made

    return make


def find_error(
    case: Case, rule: Rule, causes: Collection[Cause], *, then: str = "", goal: Goal | None = None
) -> Iterator[Finding]:
    """Yield what a rule finds if the last error has one of its causes.

    Args:
        case: What is known.
        rule: Which is asked.
        causes: What it finds.
        then: A sentence that follows the remedy of the cause: a command of this stream.
        goal: Of these causes, if it is not the rule's.
    """
    error = None if case.error is None else case.error.last
    if error is None or error.cause not in causes or is_of_another(case) is not None:
        return
    says = (f"The last error is {error.condition}.", error.cause.means, *figures_of(error))
    yield rule.find(
        what=" ".join((*says, *compare_with_checkpoint(case, error))),
        how=f"{error.cause.remedy} {then}".rstrip(),
        goal=goal,
        follows_from=(f"line {error.line:,} of the error", *_files(case, error)),
    )


def figures_of(error: SparkError) -> Iterator[str]:
    """Yield a sentence with the figures that the message has, if it has some."""
    named = [
        None if error.batch is None else f"batch {error.batch}",
        None if error.partition is None else f"partition {error.partition}",
        None if error.table is None else f"the table {error.table}",
        None if error.file is None else error.file,
    ]
    if any(named):
        yield f"It names {', '.join(each for each in named if each)}."
    if error.offsets is not None:
        yield f"The offset is {error.offsets[0]} here and {error.offsets[1]} in the source."


def is_of_another(case: Case) -> str | None:
    """Return what shows that the error is of another checkpoint; None if nothing does."""
    report, metadata = case.error, case.checkpoint.metadata
    if report is None:
        return None
    if report.query_id is not None and isinstance(metadata, QueryMetadata):
        if report.query_id == metadata.query_id:
            return None
        return f"the query id {report.query_id}, and metadata has {metadata.query_id}"
    last, location = report.last, case.checkpoint.location
    named = None if last is None or last.checkpoint is None else last.checkpoint
    if named is not None and named.rstrip("/").rpartition("/")[2] != location.name:
        return f"the checkpoint {named}, and this is {location}"
    return None


def compare_with_checkpoint(case: Case, error: SparkError) -> Iterator[str]:
    """Yield whether the checkpoint confirms or contradicts an error, where it can tell."""
    planned, committed = case.newest_planned, case.newest_committed
    if is_of_another(case) is not None:
        yield "The error is of another checkpoint than this one."
    elif error.cause in _OF_THE_BATCH:
        yield _say_pending(planned, committed)
    elif error.cause is Cause.TWO_DRIVERS and committed > planned:
        yield (
            f"The checkpoint has another explanation: commits/{committed} is there and the newest "
            f"offset entry is {planned}. Offset entries were deleted, so every start writes batch "
            f"{planned} again and then fails like this."
        )
    elif error.cause is Cause.LOG_GAP and error.batch is not None:
        path = f"offsets/{error.batch}"
        is_there = error.batch in case.checkpoint.offsets
        yield _contradict(path) if is_there else f"The checkpoint confirms it: {path} is missing."
    elif error.cause is Cause.METADATA_GONE:
        is_there = case.checkpoint.metadata is not None
        yield _contradict("metadata") if is_there else "The checkpoint confirms it."
    elif error.cause is Cause.STATE_FILE_MISSING:
        yield from _say_state_file(case, error)


def _say_pending(planned: int, committed: int) -> str:
    if planned > committed:
        return (
            f"The checkpoint confirms it: batch {planned} is planned and not committed, so the "
            "next start runs it again."
        )
    return (
        "The checkpoint has no pending batch: the batch was committed since, or it failed before "
        "it was planned."
    )


def _say_state_file(case: Case, error: SparkError) -> Iterator[str]:
    path = _inside(error)
    stores = {
        store.directory: {file.name for file in store.files}
        for operator in case.checkpoint.state
        for store in operator.stores
    }
    directory, _, name = (path or "").rpartition("/")
    if path is None or directory not in stores:
        return
    is_there = name in stores[directory]
    yield _contradict(path) if is_there else f"The checkpoint confirms it: {path} is missing."


def _contradict(path: str) -> str:
    return (
        f"The checkpoint contradicts it: {path} is there. The error is of another checkpoint, or "
        "the file was restored since."
    )


def _inside(error: SparkError) -> str | None:
    """Return the path of the named file below its checkpoint."""
    if error.file is None or error.checkpoint is None:
        return None
    return error.file.removeprefix(f"{error.checkpoint}/")


def _files(case: Case, error: SparkError) -> tuple[str, ...]:
    """Return the files of this checkpoint that were compared with the error."""
    if error.cause in _OF_THE_BATCH or error.cause is Cause.TWO_DRIVERS:
        found = (("offsets", case.newest_planned), ("commits", case.newest_committed))
        return tuple(f"{log}/{batch}" for log, batch in found if batch >= 0)
    return ()
