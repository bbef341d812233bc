"""What an Iceberg table can still give to a stream: the snapshots after the one in its offset."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from holdfast.sources.iceberg.kind import BEFORE_THE_FIRST
from holdfast.sources.probe import Found


class IcebergChange(msgspec.Struct, frozen=True, kw_only=True):
    """One snapshot that a resume reads."""

    snapshot_id: int
    operation: str
    """`append`, `replace`, `overwrite` or `delete`."""
    added: int | None = None
    """How many records it added; None when its summary does not say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IcebergSource(Found):
    """What was found."""

    display_name: str
    """As people know it."""
    needed: int = BEFORE_THE_FIRST
    """The snapshot in the newest offset; -1 before the first one."""
    is_held: bool = True
    """Whether the table still has it."""
    is_in_history: bool = True
    """Whether it is the newest snapshot of `main`, or before it."""
    after: tuple[IcebergChange, ...] = ()
    """The snapshots after it in the history of `main`, oldest first."""
    held: tuple[int, ...] = ()
    """Every snapshot that the table still has."""
    metadata: str = ""
    """The metadata file that was read."""
