"""`--code FILE[:NAME]`: the program of a query, parsed and never imported."""

from __future__ import annotations

import posixpath
from functools import partial
from pathlib import Path

from holdfast.errors import ConfigError, HoldfastError
from holdfast.lint.query_facts import WhichQuery, find_query
from holdfast.lint.query_in_code import NoQuery, QueryInCode
from holdfast.lint.source import LARGEST_BYTES
from holdfast.storage.local import is_same_place
from holdfast.storage.location import Location, parse_location


def read_code(given: str, checkpoint: Location) -> QueryInCode | NoQuery:
    """Return what a program says of the query of a checkpoint.

    Args:
        given: `FILE` or `FILE:NAME`.
        checkpoint: Where it is, to find the query among others.

    Raises:
        ConfigError: There is no such file.
    """
    from holdfast.lint.modules import modules_beside  # noqa: PLC0415 - reads files

    path, content, which = open_program(given, checkpoint)
    return find_query(str(path), content, which, find_constants=modules_beside(path))


def open_program(given: str, checkpoint: Location) -> tuple[Path, bytes, WhichQuery]:
    """Return the file of a program, its bytes, and which of its queries is meant.

    Raises:
        ConfigError: There is no such file.
    """
    path, name = _split(given)
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"--code {path} cannot be read: {error.strerror}.") from None
    return path, content, WhichQuery(name=name, is_checkpoint=partial(_is_checkpoint, checkpoint))


def _split(given: str) -> tuple[Path, str | None]:
    path, colon, name = given.rpartition(":")
    if not colon or Path(given).is_file():
        return Path(given), None
    return Path(path), name or None


def _is_checkpoint(checkpoint: Location, written: str) -> bool | None:
    """Return whether a location in the code is the checkpoint; None if that cannot be told.

    The directory that the program runs in, and the session's default file system, are not known.
    """
    if ":" not in written and not written.startswith("/"):
        ending = posixpath.normpath(written)
        return f"{checkpoint.path}".endswith(f"/{ending}") or None
    try:
        place = parse_location(written)
    except HoldfastError:
        return None
    if is_same_place(place, checkpoint):
        return True
    return None if place.is_local and not checkpoint.is_local else False
