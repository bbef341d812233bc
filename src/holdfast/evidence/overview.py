"""Everything that a checkpoint alone tells, in one value: what `holdfast inspect` shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from holdfast.checkpoint.read import Checkpoint
from holdfast.evidence.next_start import NEWEST_SPARK, predict_by_logs, predict_next_start
from holdfast.evidence.outcomes import NextStart, Refuses, Resumes, RunsAgain
from holdfast.evidence.progress import Progress, find_progress
from holdfast.evidence.state import NOT_LOOKED, Looked, OperatorState, judge_state
from holdfast.evidence.versions import (
    KNOWN,
    Readers,
    SparkVersion,
    Writers,
    find_readers,
    find_writers,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What a checkpoint alone tells."""

    checkpoint: Checkpoint
    spark: SparkVersion
    """The version that the prediction is for."""
    next_start: NextStart
    elsewhere: Mapping[SparkVersion, NextStart]
    """Predictions for versions that would do something else."""
    progress: Progress
    state: tuple[OperatorState, ...]
    """Held against the version that the next start loads."""
    writers: Writers
    readers: Readers


def overview_of(
    checkpoint: Checkpoint, *, spark: SparkVersion | None = None, looked: Looked = NOT_LOOKED
) -> Overview:
    """Say what a checkpoint tells.

    Args:
        checkpoint: As read.
        spark: The version that will be started; by default the newest that can have written it.
        looked: What looking into state files has shown.
    """
    writers, readers = find_writers(checkpoint), find_readers(checkpoint)
    if looked.by_4_0:
        because = f"{looked.by_4_0[0]} is of a version that only Spark 4.0 knows"
        writers = Writers(versions=((4, 0),), follows_from=looked.by_4_0)
        readers = Readers(versions=((4, 0),), because=(because,))
    chosen = spark or max(writers.versions, default=NEWEST_SPARK)

    def predict(version: SparkVersion) -> NextStart:
        if readers.because and version not in readers.versions:
            because = f"Spark {version[0]}.{version[1]} cannot read it: {readers.because[0]}"
            return Refuses(error="STREAM_FAILED", because=because, follows_from=())
        return predict_next_start(checkpoint, spark=version, looked=looked)

    next_start = predict(chosen)
    others = {version: predict(version) for version in KNOWN}
    return Overview(
        checkpoint=checkpoint,
        spark=chosen,
        next_start=next_start,
        elsewhere={version: each for version, each in others.items() if each != next_start},
        progress=find_progress(checkpoint, looked),
        state=judge_state(
            checkpoint, needed_version(checkpoint), looked=looked, repairs=chosen >= (4, 2)
        ),
        writers=writers,
        readers=readers,
    )


def needed_version(checkpoint: Checkpoint) -> int:
    """Return the state version that the next start loads: as the batch it runs is numbered."""
    by_logs = predict_by_logs(checkpoint)
    if isinstance(by_logs, Resumes | RunsAgain):
        return by_logs.batch_id
    newest = max(checkpoint.offsets, default=-1)
    return newest + 1 if newest in checkpoint.commits else max(newest, 0)
