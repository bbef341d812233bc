"""What the rules share that speak for a predicted start: each for one code, or for one outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import wraps

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Refuses, Resumes, RunsAgain, StartsFresh
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Rule, rule
from holdfast.spark_versions import version_text

_EVERY_START = "Spark decides; it fails as described, at every start"


def spark_will(case: Case) -> str:
    """Return `Spark will`; of a start that is refused, that it does so once it starts again.

    A finding about what follows a start must not deny that another one predicts a refusal.
    """
    is_refused = isinstance(case.next_start, Refuses)
    return "Once it starts again, Spark will" if is_refused else "Spark will"


def refusal(code: str, goal: Goal) -> Callable[[Callable[[Case], str]], Rule]:
    """Make a rule of a function that says what to do where Spark is predicted to refuse so."""

    def make(how: Callable[[Case], str]) -> Rule:
        @wraps(how)
        def judge(case: Case) -> Iterator[Finding]:
            if _refusal_of(case, code) is not None:
                yield from find_refusal(made, case, how=how(case))

        grades = (Severity.BLOCKS_RESTART, Confidence.CERTAIN, Effect.FAILS)
        made = rule(code, *grades, goal)(judge)
        return made

    return make


def find_refusal(rule: Rule, case: Case, *, how: str) -> Iterator[Finding]:
    """Find the refusal that has the code of a rule.

    Args:
        rule: Which is asked.
        case: What is known.
        how: What to do.
    """
    refused = _refusal_of(case, rule.code)
    if refused is None:
        return
    yield rule.find(
        what=f"{_began(case, refused)}: {refused.because}. Spark's error: {refused.error}.",
        how=how,
        accepting=_EVERY_START,
        follows_from=refused.follows_from or _unreadable_files(case),
        is_predicted=True,
    )


def find_failure_after(rule: Rule, case: Case, *, error: str, how: str) -> Iterator[Finding]:
    """Find a start that writes a batch to the sink and then fails.

    Args:
        rule: Which is asked.
        case: What is known.
        error: Words of Spark's error.
        how: What to do.
    """
    start = case.next_start
    if not isinstance(start, Resumes | RunsAgain | StartsFresh) or start.then != error:
        return
    batch = 0 if isinstance(start, StartsFresh) else start.batch_id
    yield rule.find(
        what=(
            f"Every start of Spark {_version(case)} will write batch {batch} to the sink, and then "
            f"fail before it is committed. Spark's error: {error}. A sink that does not "
            "recognise the batch gets its rows once more with each start."
        ),
        how=how,
        accepting=f"batch {batch} reaches the sink again with each start, and every start fails",
        follows_from=start.follows_from,
        is_predicted=True,
    )


def _refusal_of(case: Case, code: str) -> Refuses | None:
    """Return the predicted refusal, if it is the one of a rule."""
    start = case.next_start
    return start if isinstance(start, Refuses) and start.code == code else None


def _began(case: Case, refused: Refuses) -> str:
    version = _version(case)
    if refused.in_batch is None:
        return f"Spark {version} will refuse to start"
    return f"Spark {version} will start batch {refused.in_batch}, call its sink and fail"


def _unreadable_files(case: Case) -> tuple[str, ...]:
    """Return what a version cannot read; such a refusal follows from no single file."""
    return () if case.overview is None else case.overview.readers.because


def _version(case: Case) -> str:
    return "" if case.overview is None else version_text(case.overview.spark)
