"""HF228: something is in the place of an entry that Spark reads or writes next.

## What it finds

- A file in a log whose name Java reads as a number, but that Spark would not write so: `0007`. It
  is newer than all entries.
- A directory where the next entries of `offsets`, `commits` or a file source's log belong, or a
  checksum (`.7.crc`) without its file. A directory where the next version of the state belongs.
- A directory, or a file with another form of number, that ends with `.compact` in the log of a file
  source.

## What Spark does

Spark takes `0007` for entry 7, looks for the file `7` and fails at every start. It starts beside a
directory, and fails when it writes the entry of that name: `CONCURRENT_STREAM_LOG_UPDATE`. There is
no other query. If it is the commit entry, the batch has reached the sink, and reaches it again with
each start.

## What to do

Check that no query runs, then move what is named out of the checkpoint. Spark did not write it.

## Where this comes from

- Spark 4.2.0, `isBatchFile` and `getLatestBatchId` in
  [HDFSMetadataLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/HDFSMetadataLog.scala)
- Spark 4.2.0, `write` in
  [HDFSMetadataLog.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/checkpointing/HDFSMetadataLog.scala)
- Measured, in the repository, by `python -m lab predictions`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.layout import COMMITS
from holdfast.evidence.case import Case
from holdfast.evidence.obstacles import Obstacle, find_obstacles
from holdfast.evidence.outcomes import Refuses, Resumes, RunsAgain
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import find_refusal
from holdfast.rules.rule import Finding, Needs, Rule

_HOW = "Check that no query runs, then move {} out of the checkpoint."


def _judge(case: Case) -> Iterator[Finding]:
    start = case.next_start
    if isinstance(start, Refuses):
        yield from find_refusal(RULE, case, how=_HOW.format(", ".join(start.follows_from)))
        return
    if not isinstance(start, Resumes | RunsAgain):
        return
    by_checksum = {f"{COMMITS}/.{start.batch_id}.crc"}  # another rule speaks of a lone checksum
    for each in find_obstacles(case.checkpoint):
        is_told = each.path in by_checksum and each.path in case.checkpoint.lone_sidecars
        if not each.is_read and not is_told:
            yield _find_later(each)
            return


def _find_later(each: Obstacle) -> Finding:
    reached = ", after the sink has the batch" if each.entry.startswith(f"{COMMITS}/") else ""
    return RULE.find(
        what=(f"Spark will start, and fail when it writes {each.entry}{reached}: {each.because}."),
        how=_HOW.format(each.path),
        accepting="Spark decides; it fails as described, at every start",
        follows_from=(each.path,),
    )


RULE = Rule(
    code="HF228",
    name="name-taken",
    severity=Severity.BLOCKS_RESTART,
    confidence=Confidence.CERTAIN,
    effect=Effect.FAILS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
