"""A drill that begins where a stream of the user's is now: from a copy of its checkpoint.

The checkpoint is only read. Its batches go on from the newest, so that what is killed is the first
batch after it and a later one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from holdfast.drills.kill.points import Point, Rename
from holdfast.drills.phases import Phase
from holdfast.errors import ConfigError
from holdfast.storage.open import open_reader

_FIRST = ("commits/", "offsets/")
_NUMBERED = re.compile(r"(.*)/([0-9]+)")


def copy_checkpoint(location: str, target: Path) -> None:
    """Copy a checkpoint, on disk or in a bucket, to a directory of the drill.

    A stream may write it meanwhile: `commits` first, then `offsets`, so that whatever these speak
    of is there when it is copied.

    Raises:
        ConfigError: There is no checkpoint.
        ReadError: It cannot be read.
    """
    reader = open_reader(location)
    paths = sorted((info.path for info in reader.walk()), key=_order)
    if not any(path.startswith(_FIRST) for path in paths):
        raise ConfigError(f"There is no checkpoint at {location}.")
    for path in paths:
        copy = (target / path).resolve()
        if not copy.is_relative_to(target.resolve()):
            raise ConfigError(f"{location} has a file {path}, which is not inside of it.")
        content = reader.read(path)
        if content is not None:  # else it was purged meanwhile
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)


def _order(path: str) -> tuple[int, str]:
    starts = [each for each, start in enumerate(_FIRST) if path.startswith(start)]
    return (starts[0] if starts else len(_FIRST)), path


def go_on_from(checkpoint: Path, phases: Sequence[Phase]) -> list[Phase]:
    """Return the phases with the numbers that come next in a checkpoint."""
    return [
        replace(phase, kills=tuple(_shifted(kill, checkpoint) for kill in phase.kills))
        for phase in phases
    ]


def _shifted(kill: Point, checkpoint: Path) -> Point:
    found = isinstance(kill, Rename) and _NUMBERED.fullmatch(kill.target)
    if not (isinstance(kill, Rename) and found):
        return kill
    directory, number = found.groups()
    return replace(kill, target=f"{directory}/{_next(checkpoint / directory) + int(number)}")


def _next(directory: Path) -> int:
    """Return the number after the newest entry of a log; compacted ones count too."""
    names = (path.name.removesuffix(".compact") for path in directory.glob("[0-9]*"))
    return max((int(name) for name in names if name.isdecimal()), default=-1) + 1
