"""The one change to a checkpoint outside of a plan: the temp file that stops batch 0 for ever.

A driver that is killed while it writes `offsets/0` leaves `offsets/.0.<uuid>.tmp`, and Spark 4.1
and later then refuse every start (`STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY`). Nothing has run
yet, so nothing is in it that is needed. It is copied into the record, read back and compared, and
only then deleted.
"""

from __future__ import annotations

import posixpath
from typing import TYPE_CHECKING

from holdfast.checkpoint.layout import COMMITS, OFFSETS
from holdfast.events import emit
from holdfast.events.starts import OrphanCopied, OrphanMoved
from holdfast.record.layout import REMOVED

if TYPE_CHECKING:
    from holdfast.checkpoint.read import Checkpoint
    from holdfast.storage.write import Writer


def move_orphans_aside(checkpoint: Checkpoint, there: Writer, record: Writer) -> bool:
    """Move aside what a killed first batch left; False when there is nothing to move.

    Only when no batch was ever planned or committed: otherwise Spark ignores such files.

    Raises:
        ReadError, WriteError: The store did not answer; the file is then still there.
    """
    if checkpoint.offsets or checkpoint.commits or checkpoint.state:
        return False
    orphans = [
        path for path in checkpoint.leftovers if posixpath.dirname(path) in (OFFSETS, COMMITS)
    ]
    for path in orphans:
        content = there.read(path)
        if content is None:
            continue
        kept = f"{REMOVED}/{posixpath.basename(path).lstrip('.')}"
        record.put(kept, content)
        if record.read(kept) != content:
            return False
        emit(OrphanCopied(path=path, kept=kept))
        there.delete(path)
        there.delete(f"{posixpath.dirname(path)}/.{posixpath.basename(path)}.crc")
        emit(OrphanMoved(path=path, kept=kept))
    return bool(orphans)
