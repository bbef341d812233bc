"""A checkpoint that was opened, where it is or in a bundle."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from holdfast.storage.read import Reader

if TYPE_CHECKING:
    from holdfast.bundle.unpack import Bundle


class Opened(msgspec.Struct, frozen=True, kw_only=True):
    """A checkpoint, where it is or in a bundle."""

    checkpoint: Reader
    root: Reader | None
    """Reads the directory that the checkpoint is in, with the record; None if it is in none."""
    bundle: Bundle | None = None
    """None when the checkpoint is read where it is."""
