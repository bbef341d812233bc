"""HF217: a log entry was changed after Spark wrote it.

## What it finds

On local disk, the checksum that Hadoop wrote beside a log entry does not fit it. The entry was
edited, or replaced without its checksum.

## What Spark does

Spark reads log entries without comparing the checksum, and takes the edited entry. The range of the
batch is then not the one that the sink holds: rows are lost or duplicated.

## What to do

Compare the entry with a backup, or with the progress events of its batch. If the edit was meant,
nothing needs to be done.
"""

from __future__ import annotations

from collections.abc import Iterator

from holdfast.evidence.case import Case
from holdfast.grades import Confidence, Effect, Goal, Severity
from holdfast.rules.rule import Finding, Needs, Rule


def _judge(case: Case) -> Iterator[Finding]:
    if case.overview is None:
        return
    for sidecar in case.checkpoint.stale_sidecars:
        log, _, name = sidecar.rpartition("/")
        entry = f"{log}/{name.removeprefix('.').removesuffix('.crc')}"
        yield RULE.find(
            what=(
                f"Spark will take {entry} as it is, although it was changed after Spark wrote it: "
                "its checksum does not fit."
            ),
            how=f"Compare {entry} with a backup, or with the progress of its batch.",
            follows_from=(entry, sidecar),
        )


RULE = Rule(
    code="HF217",
    name="entry-edited",
    severity=Severity.RISK,
    confidence=Confidence.LIKELY,
    effect=Effect.ALTERS,
    goal=Goal.NONE,
    needs=Needs.CHECKPOINT,
    judge=_judge,
)
