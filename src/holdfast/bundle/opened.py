"""A checkpoint that was opened, where it is or in a bundle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from holdfast.storage.read import Reader

if TYPE_CHECKING:
    from holdfast.bundle.unpack import Bundle


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A checkpoint, where it is or in a bundle."""

    checkpoint: Reader
    root: Reader | None
    """Reads the directory that the checkpoint is in, with the record; None if it is in none."""
    bundle: Bundle | None = None
    """None when the checkpoint is read where it is."""
