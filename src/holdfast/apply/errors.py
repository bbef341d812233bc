"""Why a plan was not applied, or not to its end."""

from __future__ import annotations

import sys
from shlex import quote

from holdfast.errors import HoldfastError
from holdfast.record.repairs import say_how_to_end
from holdfast.redact import redact
from holdfast.spark.errors import spark_errors


class StalePlanError(HoldfastError):
    """The world has moved since the plan was made."""

    code = "STALE_PLAN"

    def __init__(self, plan_id: str, moved: tuple[str, ...], *, is_closed: bool = False) -> None:
        self.moved = moved
        """What is no longer as the plan was made for, one sentence each."""
        shown = " ".join(moved[:5])
        more = f" And {len(moved) - 5} more." if len(moved) > 5 else ""
        again = "make the plan again with the same `holdfast plan` command, and look at it again."
        closed = f"The plan is closed. Start the stream as before, or {again}"
        super().__init__(
            what=f"Plan {plan_id} was not applied; nothing was changed.",
            why=f"Something has changed since the plan was made. {shown}{more}",
            how=closed if is_closed else again.capitalize(),
        )


class PlanBlockedError(HoldfastError):
    """A sink would refuse a step of the plan."""

    code = "PLAN_BLOCKED"

    def __init__(self, plan_id: str, why: tuple[str, ...]) -> None:
        super().__init__(
            what=f"Plan {plan_id} was not applied; nothing was changed.",
            why=" ".join(why),
            how="Remove the cause, then make the plan again.",
        )


class DriftedPlanError(HoldfastError):
    """A plan that was begun cannot go on: something has changed what it was made for."""

    code = "PLAN_DRIFTED"

    def __init__(self, journal: str, moved: tuple[str, ...]) -> None:
        self.moved = moved
        """What has changed, one sentence each."""
        super().__init__(
            what="The plan was not continued; this call changed nothing.",
            why=" ".join(moved[:5]),
            how="Remove the cause and continue again. Or take back what was done: "
            f"holdfast undo {quote(journal)} --execute",
        )


class NotAllowedError(HoldfastError):
    """The plan does something for which a permission was not given."""

    code = "NOT_ALLOWED"

    def __init__(self, plan_id: str, missing: tuple[tuple[str, str], ...]) -> None:
        self.missing = tuple(dict.fromkeys(word for word, _ in missing))
        """What `--allow` must be given."""
        super().__init__(
            what=f"Plan {plan_id} was not applied; nothing was changed.",
            why=" ".join(why for _, why in missing),
            how=f"To allow it, add: {' '.join(f'--allow {word}' for word in self.missing)}",
        )


class StreamRunsError(HoldfastError):
    """A stream that the plan would change is running, or may be."""

    code = "STREAM_RUNS"
    retryable = True

    def __init__(self, stream: str, why: str, *, how: str = "") -> None:
        self.stream = stream
        stop = "Stop the query, wait until its driver has ended, and apply the plan again."
        super().__init__(
            what=f"The plan was not applied; nothing was changed: {stream} is running, or may be.",
            why=why,
            how=how or stop,
        )


class UnfinishedRepairError(HoldfastError):
    """Another plan was begun on a stream and has not ended."""

    code = "UNFINISHED_REPAIR"

    def __init__(self, stream: str, *, goal: str, journal: str) -> None:
        self.journal = journal
        super().__init__(
            what=f"Nothing was changed: a {goal} of {stream} was begun and has not ended.",
            why=f"Its journal is {journal}.",
            how=say_how_to_end(journal),
        )


class InterruptedPlanError(HoldfastError):
    """A step could not be carried out; the steps before it are done."""

    code = "PLAN_STOPPED"

    def __init__(self, *, journal: str, step: str, why: str) -> None:
        self.journal = journal
        super().__init__(
            what=f"The plan stopped at step {step}; the steps before it are done.",
            why=why,
            how=f"Remove the cause, then: holdfast apply {quote(journal)} --continue. Or take back "
            f"what was done: holdfast undo {quote(journal)} --execute",
        )


class JournalError(HoldfastError):
    """A journal cannot be used."""

    code = "JOURNAL"

    def __init__(
        self,
        location: str,
        *,
        why: str,
        how: str = "Give the directory of a journal: ROOT/_holdfast/STREAM/journal/ID",
    ) -> None:
        super().__init__(what=f"Nothing was changed: {location} cannot be used.", why=why, how=how)


def failures() -> tuple[type[Exception], ...]:
    """Return the errors by which a step can fail; PySpark need not be installed."""
    return (HoldfastError, *(spark_errors() if "pyspark" in sys.modules else ()))


def say_failure(error: Exception) -> str:
    """Return why a step failed; what Spark says begins with its answer, and can hold secrets."""
    if isinstance(error, StalePlanError | StreamRunsError):  # the steps before are done
        return error.why
    if isinstance(error, NotAllowedError):
        return f"{error.why} {error.how}."
    if isinstance(error, HoldfastError):
        return f"{error.what} {error.why}"
    return redact(str(error)).partition("\n")[0][:500]
