"""Whether the batches that readers see are those that were published."""

from __future__ import annotations

from itertools import pairwise

from holdfast.sinks.files.directory import Directory, State
from holdfast.sinks.files.failures import FilesLedgerError
from holdfast.sinks.files.layout import NOTE, BatchName
from holdfast.storage.read import FileInfo

COMPARED = 100
"""So many of the newest batches are compared file by file; of the others the names."""
_HIDDEN = (".", "_")


def find_damage(directory: Directory, state: State) -> str | None:
    """Say what is missing or was added; None if nothing shows.

    Batches may be deleted from the oldest on: whoever does so keeps less of the past.
    """
    if not directory.exists:
        return f"the directory {directory.mover.location.join(directory.name)} does not exist"
    since = [each for each in state.batches if state.record.is_since(each)]
    for one, other in pairwise(since):
        if other.batch != one.batch + 1:
            return f"batch {one.batch + 1} of generation {one.generation} was deleted"
    for batch in state.batches[-COMPARED:]:
        found = _find_difference(directory, batch)
        if found is not None:
            return f"batch {batch.batch} of generation {batch.generation} {found}"
    return None


def data_files(files: list[FileInfo], below: str) -> dict[str, int]:
    """Return the files that readers read, by their path below a directory, with their sizes."""
    paths = {each.path.removeprefix(f"{below}/"): each.size_bytes for each in files}
    return {path: size for path, size in paths.items() if not _is_hidden(path)}


def _is_hidden(path: str) -> bool:
    """Return whether Spark takes a file for none of the data."""
    return any(part.startswith(_HIDDEN) and "=" not in part for part in path.split("/"))


def _find_difference(directory: Directory, batch: BatchName) -> str | None:
    below = directory.places(batch.stream).visible(batch)
    try:
        noted = directory.note(batch).files
    except FilesLedgerError:
        return f"has lost its note, {NOTE}"
    found = data_files(list(directory.mover.walk(below)), below)
    missing, added = sorted(noted.keys() - found), sorted(found.keys() - noted)
    if missing:
        return f"has lost the file {missing[0]}"
    if added:
        return f"has a file that Holdfast did not write: {added[0]}"
    changed = sorted(path for path, size in noted.items() if found[path] != size)
    return f"has a changed file: {changed[0]}" if changed else None
