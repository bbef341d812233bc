"""The branch on which one driver stages its batches, before they come to `main`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.sinks.iceberg.notes import branch_of, branch_prefix

if TYPE_CHECKING:
    from holdfast.spark.iceberg_step import IcebergStep


def place_branch(step: IcebergStep, stream: str, *, epoch: int, at: int) -> None:
    """Have the branch of an epoch at a snapshot; branches of other epochs go.

    So a driver that was replaced can stage nothing more. A snapshot that was staged and never
    published is in no branch then, and `expire_snapshots` removes it with its files. It is not
    expired here: Iceberg would expire all that is older than five days with it.
    """
    name, prefix = branch_of(stream, epoch), branch_prefix(stream)
    own = [ref for ref in step.refs() if ref.startswith(prefix)]
    step.move_branch(name, at, drop=[ref for ref in own if ref != name])
