"""Files of a checkpoint that a repair has written, from its journal.

A repair writes entries without Hadoop's checksums, which Spark needs none of. The plan in the
journal vouches for them instead: it names every byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from holdfast.errors import HoldfastError, LocationError
from holdfast.record.documents import find_names
from holdfast.record.layout import REPAIRS, journal_path, record_location
from holdfast.storage.location import Location, parse_location
from holdfast.storage.read import Reader

_ENDED = re.compile(r"([0-9]{8}-[0-9]{6}-[0-9a-f]{6})-ended\.json")
_LARGEST_BYTES = 16 << 20
"""Of a plan; a larger one vouches for nothing here."""


class _Plan(msgspec.Struct):
    steps: list[dict[str, object]]


_DECODER = msgspec.json.Decoder(_Plan)


def find_repaired(root: Reader, checkpoint: Reader, paths: tuple[str, ...]) -> frozenset[str]:
    """Return which files of a checkpoint are byte for byte as a repair that has ended wrote them.

    Args:
        root: Where the checkpoint, and the record beside it, are.
        checkpoint: Whose files they are.
        paths: The files that are asked for.
    """
    if not paths:
        return frozenset()
    try:
        written = _find_written(root, checkpoint.location)
        return frozenset(
            each for each in paths if each in written and checkpoint.read(each) == written[each]
        )
    except HoldfastError:
        return frozenset()  # nothing vouches for them


def _find_written(root: Reader, place: Location) -> dict[str, bytes]:
    """Return what repairs wrote into a checkpoint, by path; the newest counts."""
    record = record_location(root.location, place.name).path.removeprefix(root.location.path)
    home = record.strip("/")
    written: dict[str, bytes] = {}
    for name in sorted(each[1] for each in find_names(root, f"{home}/{REPAIRS}", _ENDED)):
        for step in _read_steps(root, f"{home}/{journal_path(name)}/plan.json"):
            if _is_at(step.get("place"), place):
                written |= dict(_written_by(step))
    return written


def _written_by(step: dict[str, object]) -> Iterator[tuple[str, bytes]]:
    """Yield what a step writes: one file, or the files of a directory that it fills."""
    contents = step.get("contents")
    if step.get("step") == "put-file":
        contents = {step.get("path"): step.get("content")}
    for path, content in contents.items() if isinstance(contents, dict) else ():
        if isinstance(path, str) and isinstance(content, str):
            yield path, content.encode()


def _read_steps(root: Reader, path: str) -> list[dict[str, object]]:
    raw = root.read(path, length=_LARGEST_BYTES)
    try:
        return [] if raw is None else _DECODER.decode(raw).steps
    except (msgspec.MsgspecError, RecursionError, UnicodeError):
        return []  # damaged, or cut off here: it vouches for nothing


def _is_at(text: object, place: Location) -> bool:
    try:
        return isinstance(text, str) and parse_location(text) == place
    except LocationError:
        return False
