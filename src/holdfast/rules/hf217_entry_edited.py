"""HF217: a file that Spark reads at a start was changed after Spark wrote it.

## What it finds

On local disk, the checksum that Hadoop wrote beside a file does not fit it, and the next start
takes values from the file: the newest offset entry, that before it if the batch is pending, the
newest commit entry, `metadata`, the end of a file source's log, or a description of the state. The
file was edited, replaced without its checksum, or a disk has changed a bit.

The files of the state are compared where `--deep` reads them; on disk up to 4 MB always are.

## What Spark does

Spark reads these files without comparing the checksum, and takes what is there. With another offset
the range of a batch is not the one that the sink holds, and with another path in the log of a file
source a file counts as never read: rows are lost or duplicated.

## What to do

Compare the file with a backup, or an entry with the progress events of its batch. If the edit was
meant, nothing needs to be done.

## What it cannot see

Whether the change matters. Object stores keep no such checksums, and a copy may have left them out:
then a changed number cannot be told from the right one.

## Where this comes from

- Spark 4.2.0, `populateStartOffsets` in
  [MicroBatchExecution.scala](https://github.com/apache/spark/blob/v4.2.0/sql/core/src/main/scala/org/apache/spark/sql/execution/streaming/runtime/MicroBatchExecution.scala)
- Measured, in the repository, by `python -m campaigns.damages`
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.checkpoint.checksums import sidecar_of
from holdfast.evidence.case import Case
from holdfast.evidence.read_at_start import changed_files, decides_start
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.predicted import spark_will
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    if case.overview is None:
        return
    unreadable = {each.path for each in case.checkpoint.unparsed}
    for entry, sidecar in changed_files(case.checkpoint):
        # Spark will not take what it cannot read: another rule says so.
        if entry in unreadable or not decides_start(case.checkpoint, entry):
            continue
        yield RULE.find(
            what=(
                f"{spark_will(case)} take {entry} as it is, although it was changed after "
                "Spark wrote it: its checksum does not fit."
            ),
            how=f"Compare {entry} with a backup{_progress(entry)}.",
            follows_from=(entry, sidecar),
        )
    yield from _find_state(case)


def _find_state(case: Case) -> Iterator[Finding]:
    stores = () if case.overview is None else case.overview.stores
    damaged = {each.path for store in stores for each in store.damaged}
    for path in (each for store in stores for each in store.verified.changed):
        if path not in damaged:
            yield RULE.find(
                what=(
                    f"{path}, which the next batch loads, was changed after Spark wrote it: its "
                    "checksum does not fit."
                ),
                how=f"Compare {path} with a backup.",
                follows_from=(path, sidecar_of(path)),
            )


def _progress(entry: str) -> str:
    is_entry = entry.startswith(("offsets/", "commits/"))
    return ", or with the progress of its batch" if is_entry else ""


RULE = Rule(
    code="HF217",
    name="entry-edited",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.ALTERS,
    goal=Goal.RESUME,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
