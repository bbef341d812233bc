"""Every state that a power cut can leave of what a function does to the files of a directory.

What was synced is there. Of what was not, any part may have reached the disk, in any order: a
name without the file that had it before, a file with no content or with half of it. That is what
POSIX allows; a file system with a journal leaves fewer.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from pathlib import Path

from lab.faults.disk_log import Disk, DiskLog, Entry, Operation, Returned, Sync, Write

REORDERED = 3

Outcome = str
"""Of an operation that was not synced: `done`, `lost`, or `half`, if it wrote content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerCut:
    """What is on disk after a power cut."""

    done: int
    """Operations that were begun before it."""
    returned: tuple[Returned, ...]
    """Calls of the writer that had returned: whatever they did must be there."""
    outcomes: tuple[str, ...]
    """What became of each operation that was not synced, for messages."""
    files: Mapping[str, bytes]
    directories: tuple[str, ...]
    """All of them, those with files too."""

    def restore(self, directory: Path) -> None:
        """Make a directory as the power cut has left it."""
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        for each in self.directories:
            (directory / each).mkdir(parents=True, exist_ok=True)
        for path, data in self.files.items():
            (directory / path).write_bytes(data)


def power_cuts(
    directory: Path, act: Callable[[], object], *, reordered: int = REORDERED
) -> Iterator[PowerCut]:
    """Run a function once, then yield every different state that a power cut could leave.

    Args:
        directory: What is watched; what is there already counts as synced.
        act: Changes files below it, through a `LocalWriter` or otherwise, in one thread at a time.
        reordered: Of the operations that were not synced, so many at most are lost while all
            others were done, or done while all others were lost.

    Raises:
        AssertionError: The function did something to files that is not known here.
    """
    log = DiskLog(directory)
    log.run(act)
    seen = set()
    for done in range(len(log.operations) + 1):
        operations = log.operations[:done]
        returned = tuple(each for each in operations if isinstance(each, Returned))
        pending = unsynced(operations)
        for outcomes in find_outcomes([operations[each] for each in pending], reordered):
            chosen = dict(zip(pending, outcomes, strict=True))
            files, directories = _find(log.before, operations, chosen)
            state = (tuple(files.items()), directories, len(returned))
            if state not in seen:
                seen.add(state)
                shown = (f"{operations[at].text}: {each}" for at, each in chosen.items())
                yield PowerCut(
                    done=done,
                    returned=returned,
                    outcomes=tuple(shown),
                    files=files,
                    directories=directories,
                )


def unsynced(operations: Sequence[Operation]) -> list[int]:
    """Return which operations a power cut can undo, by their places in the sequence."""
    found = []
    synced: set[int] = set()
    for at in range(len(operations) - 1, -1, -1):
        operation = operations[at]
        match operation:
            case Sync():
                synced.add(operation.number)
            case Entry() if not operation.directories <= synced:
                found.append(at)
            case Write() if operation.file not in synced:
                found.append(at)
            case _:
                pass
    return found[::-1]


def find_outcomes(pending: Sequence[Operation], reordered: int) -> Iterator[tuple[Outcome, ...]]:
    """Yield what can become of each: all done or all lost, but for so many at most."""
    for usual in ("done", "lost"):
        for count in range(min(reordered, len(pending)) + 1):
            for others in combinations(range(len(pending)), count):
                ways = [_others(pending[at], usual) for at in others]
                for chosen in product(*ways):
                    outcomes = [usual] * len(pending)
                    for at, outcome in zip(others, chosen, strict=True):
                        outcomes[at] = outcome
                    yield tuple(outcomes)


def _others(operation: Operation, usual: Outcome) -> list[Outcome]:
    found = ["done", "lost", *(["half"] if isinstance(operation, Write) else [])]
    return [each for each in found if each != usual]


def _find(
    before: Disk, operations: Sequence[Operation], outcomes: Mapping[int, Outcome]
) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return files and directories, where each operation that was not synced came out so."""
    disk = before.copy()
    for at, operation in enumerate(operations):
        outcome = outcomes.get(at, "done")
        match operation:
            case Entry():
                disk.create(operation)
                if outcome == "done":
                    disk.apply(operation)
            case Write() if outcome != "lost":
                size = len(operation.content) // (2 if outcome == "half" else 1)
                disk.contents[operation.file] = operation.content[:size]
            case _:
                pass
    found = dict(sorted(disk.walk()))
    files = {path: disk.contents[each] for path, each in found.items() if each in disk.contents}
    return files, tuple(path for path, each in found.items() if each in disk.entries)
