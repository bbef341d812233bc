"""Tells a place that is empty from one that is not there: a listing of both is empty."""

from __future__ import annotations

from pathlib import Path

from holdfast.errors import ReadError
from holdfast.storage.read import Reader


def refuse_missing(reader: Reader) -> None:
    """Refuse a place whose listing is empty, unless it is an empty directory.

    Raises:
        ReadError: It is a file, or nothing is there.
    """
    place = reader.location
    if place.is_local and Path(place.path).is_dir():
        return
    if place.path and reader.stat("") is not None:
        why, how = "It is a file, and not a directory.", "Name the directory that it is in."
    elif place.is_local:
        why, how = "It does not exist.", "Check how it is spelt."
    else:
        why, how = "Nothing is there: no key begins with it.", "Check how it is spelt."
    raise ReadError(str(place), why=why, how=how)
