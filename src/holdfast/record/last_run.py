"""The last run of a stream: after an undo, runs of the generation that was left do not count."""

from __future__ import annotations

from holdfast.record.bounds import MAX_EPOCH
from holdfast.record.generations import UNDONE, Generation, read_generations
from holdfast.record.runs import Run, newest_run
from holdfast.storage.read import Reader


def last_run_of(
    reader: Reader, generation: Generation, *, before: int = MAX_EPOCH + 1
) -> Run | None:
    """Return the newest run that no undo has left behind; without one, the newest of all.

    An undone generation goes back to a checkpoint of before. Its sinks are those that the stream
    had then: a run in between can have written into other tables.

    Args:
        reader: Of the stream's record.
        generation: The current one.
        before: An epoch: a run of it or of a later one was not started yet, and is ignored.

    Raises:
        ReadError, RecordError: A run or a generation cannot be read.
    """
    newest = newest_run(reader, before=before)
    if newest is None or newest.generation == generation.number:
        return newest
    left = _find_left(list(read_generations(reader)))
    found: Run | None = newest
    while found is not None and found.generation in left:
        found = newest_run(reader, before=found.epoch)
    return found or newest


def _find_left(generations: list[Generation]) -> set[int]:
    """Return the generations that undos have left: those since the checkpoint that they went to."""
    left: set[int] = set()
    while generations:
        each = generations.pop()
        if each.opened_as != UNDONE:
            continue
        while generations and generations[-1].checkpoint != each.checkpoint:
            left.add(generations.pop().number)
    return left
