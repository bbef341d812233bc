"""The one change to a checkpoint outside of a plan: temp files of logs, left by another driver.

Spark writes `offsets/.N.<uuid>.tmp` and renames it to `offsets/N`. One that is still there when
this start holds the lease is of a driver that was killed, or halted just before its rename:

- before the first batch, Spark 4.1 and later then refuse every start
  (`STATE_STORE_CHECKPOINT_LOCATION_NOT_EMPTY`);
- later, on a disk, a driver that was replaced and goes on would rename it over what the new driver
  has written: Spark looks whether the name is free, and then replaces what is there.

No start of Spark reads such a file. It is copied into the record, read back and compared, and only
then deleted: a rename that comes later fails.
"""

from __future__ import annotations

import posixpath
from collections.abc import Collection
from typing import TYPE_CHECKING

from holdfast.checkpoint.layout import COMMITS, OFFSETS, SOURCES, Kind
from holdfast.checkpoint.logs import named
from holdfast.errors import HoldfastError
from holdfast.events import emit
from holdfast.events.event import Warned
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
    return bool(orphans) and _move_aside(orphans, there, record)


def move_drafts_aside(checkpoint: Checkpoint, there: Writer, record: Writer) -> None:
    """Move aside what would decide the range of a batch, on a disk, once the sinks are fenced.

    A late request to an object store needs no such file. What cannot be moved stays, and is said.
    """
    if not there.location.kind.has_checksum_files:
        return
    stays = f"in {there.location} a file that another driver left half made stays"
    logs = (OFFSETS, *(f"{SOURCES}/{each.name}" for each in checkpoint.sources))
    try:
        for log in logs:
            drafts = named([info.path for info in there.list(log).files], Kind.TEMP)
            if not _move_aside(drafts, there, record):
                emit(Warned(f"{stays}: its copy in the record is not the same."))
    except HoldfastError as error:
        emit(Warned(f"{stays}: {error.why}"))


def _move_aside(paths: Collection[str], there: Writer, record: Writer) -> bool:
    """Copy files into the record, compare, and delete them; False when a copy differs."""
    for path in paths:
        content = there.read(path)
        if content is None:
            continue
        directory, name = posixpath.split(path)
        kept = f"{REMOVED}/{directory}/{name.lstrip('.')}"
        record.put(kept, content)
        if record.read(kept) != content:
            return False
        emit(OrphanCopied(path=path, kept=kept))
        there.delete(path)
        there.delete(f"{directory}/.{name}.crc")
        emit(OrphanMoved(path=path, kept=kept))
    return True
