"""The branch on which one driver stages its batches, before they come to `main`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.sinks.iceberg.notes import branch_of, branch_prefix

if TYPE_CHECKING:
    from holdfast.formats.iceberg_metadata import IcebergTable
    from holdfast.spark.iceberg_step import IcebergStep


def place_branch(step: IcebergStep, stream: str, *, epoch: int, at: int) -> None:
    """Have the branch of an epoch at a snapshot; what was staged and never published is forgotten.

    Branches of other epochs go: a driver that was replaced can stage nothing more. What they have
    is taken out of the metadata, so that nobody publishes it later; the files stay for
    `remove_orphan_files`.
    """
    name, prefix = branch_of(stream, epoch), branch_prefix(stream)
    own = [ref for ref in step.refs() if ref.startswith(prefix)]
    is_clean = all(step.snapshot_of(ref) == step.head for ref in own)
    left = set() if is_clean else find_left(step.metadata(), own)
    step.move_branch(name, at, drop=[ref for ref in own if ref != name])
    if left:
        step.forget(left)


def find_left(table: IcebergTable, own: list[str]) -> set[int]:
    """Return the snapshots on branches of a stream that neither `main` nor another ref has."""
    others = [number for name, number in table.refs.items() if name not in own]
    kept = {each.snapshot_id for number in others for each in table.history(number)}
    kept |= {each.snapshot_id for each in table.history()}
    staged = {each.snapshot_id for ref in own for each in table.history(table.refs[ref])}
    return staged - kept
