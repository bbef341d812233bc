"""Everything that a checkpoint alone tells, in one value: what `holdfast inspect` shows."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
from msgspec.structs import replace

from holdfast.checkpoint.read import Checkpoint
from holdfast.evidence.checkpoint_evidence import Evidence
from holdfast.evidence.next_start import needed_version
from holdfast.evidence.outcomes import NextStart
from holdfast.evidence.progress import Progress, find_progress
from holdfast.evidence.state import OperatorState, judge_state
from holdfast.evidence.state_content import StoreContent
from holdfast.evidence.versions import Readers, Writers
from holdfast.sources.kind import Amount
from holdfast.spark_versions import BEHAVIOURS, DIFFERENT, KNOWN, SparkVersion


class Overview(msgspec.Struct, frozen=True, kw_only=True):
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
    stores: tuple[StoreContent, ...]
    """The stores that the next start loads, looked into."""
    writers: Writers
    readers: Readers
    not_looked_at: tuple[str, ...]
    """What is there and was not looked at, each with the reason; empty when all was."""


def overview_of(
    evidence: Evidence, *, spark: SparkVersion | None = None, is_one_version: bool = False
) -> Overview:
    """Say what the evidence of a checkpoint tells.

    Args:
        evidence: As collected.
        spark: The version that will be started; by default the newest that can have written it.
        is_one_version: Whether predictions for other versions are left out: they take most of the
            time.
    """
    checkpoint, looked = evidence.checkpoint, evidence.looked
    chosen = spark or evidence.spark
    next_start = evidence.next_start(chosen)
    versions = () if is_one_version else (*KNOWN, *DIFFERENT)
    others = {version: evidence.next_start(version) for version in versions}
    return Overview(
        checkpoint=checkpoint,
        spark=chosen,
        next_start=next_start,
        elsewhere={version: each for version, each in others.items() if each != next_start},
        progress=_with_files(find_progress(checkpoint, looked), evidence.pending_files),
        state=judge_state(
            checkpoint, needed_version(checkpoint), does=BEHAVIOURS[chosen], looked=looked
        ),
        stores=evidence.stores,
        writers=evidence.writers,
        readers=evidence.readers,
        not_looked_at=evidence.not_looked_at,
    )


def _with_files(progress: Progress, files: Mapping[str, int]) -> Progress:
    """Say of a pending batch how many files it has, not how many entries of the source's log."""
    sources = tuple(
        replace(each, amount=Amount(number=files[each.source], unit="file"))
        if each.source in files
        else each
        for each in progress.sources
    )
    return replace(progress, sources=sources)
