"""The directories of a record: below the root, and no link or file in the place of one.

A file in the place of `leases/` lists like an empty directory: the stream would look as if it had
never run. A linked directory would be written to wherever it leads.
"""

from __future__ import annotations

from holdfast.errors import UnsafePathError
from holdfast.record.documents import refuse_directory
from holdfast.record.layout import HOME, KINDS
from holdfast.storage.location import Location
from holdfast.storage.read import Reader


def check_shape(root: Reader, stream: str) -> None:
    """Refuse a record that is not made of directories below its root.

    Raises:
        RecordError: Something else is in the place of a directory.
        ReadError: The store did not let us look.
    """
    record = f"{HOME}/{stream}"
    try:
        listing = root.list(record)
        is_missing = not listing.files and not listing.directories
        blocked = [path for path in (HOME, record) if is_missing and root.stat(path) is not None]
    except UnsafePathError as error:
        raise refuse_directory(_find_link(root, record), why=error.why) from error
    names = {info.path.rpartition("/")[2] for info in listing.files} - set(listing.directories)
    blocked += [f"{record}/{kind}" for kind in KINDS if kind in names]
    if blocked:
        why = "It is a file or a link, not a directory."
        raise refuse_directory(root.location.join(blocked[0]), why=why)


def _find_link(root: Reader, record: str) -> Location:
    """Return which of the two directories above the files of a record cannot be followed."""
    try:
        root.list(HOME)
    except UnsafePathError:
        return root.location.join(HOME)
    return root.location.join(record)
