"""A predicted start in the form that has a version."""

from __future__ import annotations

from holdfast.cli.inspect_form import NextStartJson, RereadJson
from holdfast.evidence.outcomes import (
    NextStart,
    Refuses,
    Resumes,
    RunsAgain,
    StartsFresh,
    Unknown,
)
from holdfast.evidence.versions import SparkVersion, version_text

_KINDS: dict[type[NextStart], str] = {
    Resumes: "resumes",
    RunsAgain: "runs-again",
    StartsFresh: "starts-fresh",
    Refuses: "refuses",
    Unknown: "unknown",
}


def next_start_json(found: NextStart, spark: SparkVersion) -> NextStartJson:
    """Return a prediction in the form that has a version.

    Args:
        found: The prediction.
        spark: The version that it is for.
    """
    document = NextStartJson(
        kind=_KINDS[type(found)], spark=version_text(spark), follows_from=found.follows_from
    )
    match found:
        case Resumes() | RunsAgain():
            document.batch_id = found.batch_id
            document.rereads = tuple(
                RereadJson(source=each.source, after=each.after) for each in found.rereads
            )
            document.then_fails_with = found.then
            document.unless = found.unless
        case StartsFresh():
            document.new_query_id = found.new_query_id
            document.then_fails_with = found.then
        case Refuses() | Unknown():
            document.because = found.because
    if isinstance(found, RunsAgain):
        document.passed_over = found.passed_over
    if isinstance(found, Refuses):
        document.code = found.code.value
        document.error = found.error
        document.in_batch = found.in_batch
    if isinstance(found, Unknown):
        document.cause = found.cause.value
    return document
