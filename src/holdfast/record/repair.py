"""Commands that take a broken or forged file out of a record; nothing is deleted.

Holdfast prints them and never runs them: only a person can tell a forged file from one that must be
restored from a backup.
"""

from __future__ import annotations

import posixpath
from shlex import quote

from holdfast.record.layout import REMOVED
from holdfast.storage.location import Location

_MOVERS = {"s3": "aws s3 mv", "gs": "gcloud storage mv"}
"""Of stores without directories."""
_HADOOP = dict.fromkeys(("hdfs", "viewfs", "az"), "hdfs dfs -")
"""What stands before the name of a command, where Hadoop's shell has it too."""


def move_aside(file: Location, *, is_directory: bool = False) -> str:
    """Return the command that moves `<record>/<kind>/<name>` to `<record>/removed/`."""
    record = Location(
        scheme=file.scheme,
        bucket=file.bucket,
        path=posixpath.dirname(posixpath.dirname(file.path)),
    )
    target = record.join(REMOVED)
    if file.scheme in _MOVERS:
        every = " --recursive" if is_directory and file.scheme == "s3" else ""
        return f"{_MOVERS[file.scheme]}{every} {quote(str(file))} {quote(f'{target}/{file.name}')}"
    run, directory = _HADOOP.get(file.scheme, ""), quote(str(target))
    return f"{run}mkdir -p {directory} && {run}mv {quote(str(file))} {directory}/"


def rename_aside(place: Location) -> str:
    """Return the command that renames what stands where a directory of a record should be."""
    mover = _MOVERS.get(place.scheme) or f"{_HADOOP.get(place.scheme, '')}mv"
    return f"{mover} {quote(str(place))} {quote(f'{place}.aside')}"
