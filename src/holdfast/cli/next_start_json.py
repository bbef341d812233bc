"""A predicted start in the form that has a version."""

from __future__ import annotations

import msgspec

from holdfast.evidence.outcomes import (
    NextStart,
    Refuses,
    Reread,
    Resumes,
    RunsAgain,
    StartsFresh,
    Unknown,
)
from holdfast.report.envelope import fill
from holdfast.spark_versions import SparkVersion, version_text

_KINDS: dict[type[NextStart], str] = {
    Resumes: "resumes",
    RunsAgain: "runs-again",
    StartsFresh: "starts-fresh",
    Refuses: "refuses",
    Unknown: "unknown",
}


class NextStartJson(msgspec.Struct, omit_defaults=True):
    """What the next start will do."""

    kind: str
    spark: str
    follows_from: tuple[str, ...]
    batch_id: int | None = None
    passed_over: tuple[int, ...] = ()
    rereads: tuple[Reread, ...] = ()
    then: str | None = None
    """The error Spark fails with after the sink has been written."""
    unless: str | None = None
    code: str | None = None
    error: str | None = None
    because: str | None = None
    in_batch: int | None = None
    new_query_id: bool | None = None
    cause: str | None = None


def next_start_json(found: NextStart, spark: SparkVersion) -> NextStartJson:
    """Return a prediction in the form that has a version.

    Args:
        found: The prediction.
        spark: The version that it is for.
    """
    return fill(NextStartJson, found, kind=_KINDS[type(found)], spark=version_text(spark))
