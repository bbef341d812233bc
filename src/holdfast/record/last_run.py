"""The last run on a checkpoint: after an undo, runs of the generation that was left are none."""

from __future__ import annotations

from holdfast.record.generations import UNDONE, Generation, read_generations
from holdfast.record.runs import Run, newest_run
from holdfast.storage.read import Reader


def last_run_of(reader: Reader, generation: Generation) -> Run | None:
    """Return the newest run on the checkpoint of a generation; without one, the newest of all.

    An undone generation goes back to a checkpoint of before. Its sinks are those that the stream
    had then: a run in between can have written into other tables.

    Args:
        reader: Of the stream's record.
        generation: The current one.

    Raises:
        ReadError, RecordError: A run or a generation cannot be read.
    """
    newest = newest_run(reader)
    if generation.why != UNDONE or newest is None or newest.generation == generation.number:
        return newest
    places = {each.number: each.checkpoint for each in read_generations(reader)}
    found: Run | None = newest
    while found is not None and places.get(found.generation) != generation.checkpoint:
        found = newest_run(reader, before=found.epoch)
    return found or newest
