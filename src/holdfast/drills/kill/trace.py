"""The operations of a real run on its files, and the states that a crash could leave of them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A file got its name, or lost it."""

    what: str
    """`rename`, `link` or `unlink`."""
    path: Path
    came_from: Path | None
    kept: Path
    """What the file held, when it got its name."""


def read_trace(directory: Path, *, below: Path) -> list[Operation]:
    """Return the operations on files below a directory, in their order."""
    found = []
    for line in (directory / "log").read_text().splitlines():
        number, what, path, came_from = line.split("\t")
        if Path(path).is_relative_to(below):
            found.append(
                Operation(
                    what=what,
                    path=Path(path),
                    came_from=Path(came_from) if came_from else None,
                    kept=directory / number,
                )
            )
    return found


def make_state(operations: Sequence[Operation], done: int) -> None:
    """Make the files as a crash leaves them after so many of the operations.

    The next file that gets its name is there under the one that it has before.
    """
    for each in operations[:done]:
        _apply(each)
    if done < len(operations) and operations[done].what != "unlink":
        following = operations[done]
        if following.came_from is not None and following.kept.exists():
            _put(following.kept, following.came_from)


def _apply(operation: Operation) -> None:
    if operation.what == "unlink":
        operation.path.unlink(missing_ok=True)
        return
    if operation.what == "rename" and operation.came_from is not None:
        operation.came_from.unlink(missing_ok=True)
    if operation.kept.is_file():
        _put(operation.kept, operation.path)


def _put(kept: Path, path: Path) -> None:
    """Copy: a link would be changed with the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half_made = path.with_name(f"{path.name}.half")
    shutil.copyfile(kept, half_made)
    os.replace(half_made, path)  # noqa: PTH105 - one step, over what is there
