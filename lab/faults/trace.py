"""The operations of a real run on its files, and the states that a crash could leave of them."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from holdfast.drills.kill.shim import build_shim

_SHIM = Path(__file__).with_name("trace_shim.c")


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """A file got its name, or lost it."""

    what: str
    """`create`, `rename`, `link` or `unlink`; a `create` of what is renamed later is left out."""
    path: Path
    came_from: Path | None
    kept: Path
    """What the file held when it got its name; of a `create` what it holds in the end."""


def traced(directory: Path) -> dict[str, str]:
    """Return the environment of a driver that writes down there what it does to files.

    Args:
        directory: Is not there yet; `read_trace` reads it.

    Raises:
        CompilerMissingError: There is no C compiler.
    """
    directory.mkdir(parents=True)
    library = build_shim(_SHIM, directory.parent)
    return {"HOLDFAST_DRILL_TRACE": str(directory), "LD_PRELOAD": str(library)}


def read_trace(directory: Path, *, below: Sequence[Path]) -> list[Operation]:
    """Return the operations on files below some directories, in their order."""
    found = []
    for line in (directory / "log").read_text().splitlines():
        number, what, path, came_from = line.split("\t")
        if any(Path(path).is_relative_to(each) for each in below):
            found.append(
                Operation(
                    what=what,
                    path=Path(path),
                    came_from=Path(came_from) if came_from else None,
                    kept=directory / number,
                )
            )
    passing = {each.came_from for each in found}
    return [each for each in found if each.what != "create" or each.path not in passing]


class Prefixes:
    """The files of a run, made again and again as a crash leaves them after some operations.

    The next file that gets its name is there under the one that it has before; the next one that
    is written in its place is there by half.
    """

    def __init__(self, operations: Sequence[Operation], *, below: Sequence[Path]) -> None:
        """Own what is below these directories."""
        self._operations = operations
        self._below = below
        self._kept = {each.kept for each in operations if each.kept.is_file()}
        self._made: dict[str, tuple[_Content, _Identity | None]] = {}

    def make(self, done: int) -> None:
        """Make the files of so many operations; what is there and right is left alone."""
        wanted = self._find(done)
        for directory in self._below:
            for here, _, names in os.walk(directory, topdown=False):
                for path in (os.path.join(here, name) for name in names):  # noqa: PTH118 - many
                    if path not in wanted:
                        os.unlink(path)  # noqa: PTH108
                with contextlib.suppress(OSError):  # something is in it
                    os.rmdir(here)  # noqa: PTH106
        for path, content in wanted.items():
            if self._made.get(path) != (content, _identify(path)):
                _put(content, Path(path))
                self._made[path] = content, _identify(path)

    def _find(self, done: int) -> dict[str, _Content]:
        """Return what is there after so many operations: what each file holds, by path."""
        found: dict[str, _Content] = {}
        for each in self._operations[:done]:
            if each.what in ("unlink", "rename"):
                found.pop(str(each.path if each.what == "unlink" else each.came_from), None)
            if each.what != "unlink" and each.kept in self._kept:
                found[str(each.path)] = _Content(kept=each.kept)
        for following in self._operations[done : done + 1]:
            is_half = following.what == "create"
            path = following.path if is_half else following.came_from
            if path is not None and following.kept in self._kept:
                found[str(path)] = _Content(kept=following.kept, is_half=is_half)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class _Content:
    kept: Path
    is_half: bool = False


_Identity = tuple[int, int, int]


def _identify(path: str) -> _Identity | None:
    """Return what changes with a file's content; None when there is no file."""
    try:
        status = os.stat(path)  # noqa: PTH116
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


def _put(content: _Content, path: Path) -> None:
    """Copy: a link would be changed with the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    half_made = path.with_name(f"{path.name}.half")
    shutil.copyfile(content.kept, half_made)
    if content.is_half:
        os.truncate(half_made, half_made.stat().st_size // 2)
    os.replace(half_made, path)  # noqa: PTH105 - one step, over what is there
