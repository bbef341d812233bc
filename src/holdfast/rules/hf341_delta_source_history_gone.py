"""HF341: the log of the source no longer has a version that a start reads.

## What it finds

A start reads the log of the Delta table from where the last batch began, and `_delta_log` no longer
has a commit from there on. The stream was down for longer than `delta.logRetentionDuration`, 30
days by default, or commits were deleted.

## What Spark does

Spark fails: `DELTA_MISSING_FILES_UNEXPECTED_VERSION`, or a similar condition. It does so even if
only versions are gone that the last batch has read: Spark lists those again before it plans the
next batch. With `failOnDataLoss=false` it continues with the oldest version that is there. What was
appended in between, and not read, is lost without an error.

## What to do

If only versions are gone that were read, start once with `failOnDataLoss=false`: nothing is lost.

Otherwise [reset the stream](../../guides/reset.md). A new generation reads the rows that the
table has now, into an output that is emptied first:

```sh
holdfast plan reset STREAM --root ROOT --from earliest --output truncate -o plan.json
```

Or start with a new checkpoint and `startingVersion` set to the oldest version that is there, and
write the missing rows with a batch job: compare the table with the sink by a key.

## What accepting does

Spark does not start. With `failOnDataLoss=false` it skips the versions that are gone.

## What it cannot see

Whether the query sets `failOnDataLoss=false`.

## Where this comes from

- Delta 4.4.0, `failOnDataLoss` in
  [DeltaSource.scala](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/scala/org/apache/spark/sql/delta/sources/DeltaSource.scala)
- Delta 4.4.0, `DELTA_MISSING_FILES_UNEXPECTED_VERSION` in
  [delta-error-classes.json](https://github.com/delta-io/delta/blob/v4.4.0/spark/src/main/resources/error/delta-error-classes.json)
- Delta's documentation:
  [Data retention](https://docs.delta.io/delta-batch/#data-retention)
- Measured, in the repository, by
  `python -m campaigns.situations delta-source-log-cleaned delta-source-last-batch-cleaned`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Resumes
from holdfast.evidence.sources.delta import DeltaSource
from holdfast.evidence.sources.probe import SourceProbe
from holdfast.evidence.wording import count
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.commands import resetting
from holdfast.rules.delta_sources import delta_sources, log_files, newest_entry, offset_after
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    for probe, found in delta_sources(case):
        if not found.is_same_table:
            continue
        again = _listed_again(case, probe, found)
        if found.missing:
            yield _unread(case, probe, found)
        elif again is not None and found.earliest is not None:
            yield RULE.find(
                what=(
                    f"The log of {found.shown} begins with version {found.earliest}, and the last "
                    f"batch read source {probe.source} from version {again} on. Spark lists those "
                    "versions again at the start and fails, although they were read."
                ),
                how="Start once with failOnDataLoss=false on this source: no new version is gone.",
                accepting="no row is read; with failOnDataLoss=false nothing is lost",
                follows_from=(newest_entry(case), *log_files(found, again)),
            )


def _unread(case: Case, probe: SourceProbe, found: DeltaSource) -> Finding:
    missing = found.missing
    oldest = "" if found.earliest is None else f" The oldest that is there is {found.earliest}."
    return RULE.find(
        what=(
            f"Source {probe.source} continues with version {found.needed_version} of "
            f"{found.shown}, and its log lacks {count(len(missing), 'version')} from {missing[0]} "
            f"on.{oldest} Spark fails at the start."
        ),
        how=(
            "Start a new checkpoint with startingVersion set to the oldest version that is there, "
            f"and write the rows between with a batch job. Or {resetting(case)}: it reads the rows "
            "that the table has now."
        ),
        accepting="no row is read; with failOnDataLoss=false the missing versions are skipped",
        follows_from=(newest_entry(case), *log_files(found, missing[0])),
    )


def _listed_again(case: Case, probe: SourceProbe, found: DeltaSource) -> int | None:
    """Return where the last batch began, if the log does not reach back to there."""
    if not isinstance(case.next_start, Resumes) or found.earliest is None:
        return None
    began = offset_after(case, case.newest_planned - 1, probe.source)
    if began is None or began.initial_snapshot or began.version >= found.needed_version:
        return None
    return began.version if began.version < found.earliest else None


RULE = Rule(
    code="HF341",
    name="delta-source-history-gone",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESET,
    needs=Needs.SOURCE,
    judge=_judge,
)
