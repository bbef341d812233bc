"""Commands that take a broken or forged file out of a record; nothing is deleted.

Holdfast prints them and never runs them: only a person can tell a forged file from one that must be
restored from a backup.
"""

from __future__ import annotations

import posixpath
from shlex import quote

from holdfast.record.layout import REMOVED
from holdfast.storage.location import Location


def move_aside(file: Location, *, is_directory: bool = False) -> str:
    """Return the command that moves `<record>/<kind>/<name>` to `<record>/removed/`."""
    record = Location(
        scheme=file.scheme,
        bucket=file.bucket,
        path=posixpath.dirname(posixpath.dirname(file.path)),
    )
    target = record.join(REMOVED)
    mover = file.kind.directory_mover if is_directory else file.kind.mover
    if mover:
        return f"{mover} {quote(str(file))} {quote(f'{target}/{file.name}')}"
    run, directory = file.kind.shell, quote(str(target))
    return f"{run}mkdir -p {directory} && {run}mv {quote(str(file))} {directory}/"


def rename_aside(place: Location) -> str:
    """Return the command that renames what stands where a directory of a record should be."""
    mover = place.kind.mover or f"{place.kind.shell}mv"
    return f"{mover} {quote(str(place))} {quote(f'{place}.aside')}"
