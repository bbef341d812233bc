"""Where the checkpoint of a case is, and what the record beside it says."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from holdfast.bundle.open import open_checkpoint, refuse_unseen_record
from holdfast.errors import ConfigError, HoldfastError
from holdfast.evidence.guard_record import GuardRecord, UnreadableRecord, read_guard_record
from holdfast.record.generations import ADOPTED, UNDONE, current_generation
from holdfast.record.layout import HOME, generation_name, is_stream_name
from holdfast.record.runs import last_topic_ids
from holdfast.storage.below import SubdirReader
from holdfast.storage.location import Location, parse_location
from holdfast.storage.open import open_reader
from holdfast.storage.read import Reader
from holdfast.storage.remembered import CachingReader


class CheckpointPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where the checkpoint is, and what the record beside it says."""

    checkpoint: Reader
    record: GuardRecord | UnreadableRecord | None
    root: Reader | None
    """Of the directory that the record is in; None where there can be none."""
    is_bundle: bool = False
    """Whether it is read from a bundle, which must not make us look anywhere else."""

    @property
    def guard(self) -> GuardRecord | None:
        """The record, where it could be read."""
        return self.record if isinstance(self.record, GuardRecord) else None

    @property
    def record_root(self) -> str | None:
        """Where plans find the stream by its name; None if this is not its checkpoint of now."""
        guard = self.guard
        is_current = guard is not None and not guard.is_replaced
        return str(self.root.location) if is_current and self.root is not None else None

    def topic_ids(self) -> Mapping[str, Mapping[str, str]] | str:
        """Return the ids that topics had when the stream last ran, or why they are unknown."""
        guard = self.guard
        if guard is None or guard.lease is None or self.root is None:
            return {}
        home = SubdirReader(self.root, f"{HOME}/{guard.stream}")
        try:
            return last_topic_ids(
                home, before=guard.lease.epoch + 1, generation=guard.generation.number
            )
        except HoldfastError as error:
            return error.why


def find_place(location: str, *, root: str | None, options: Mapping[str, str]) -> CheckpointPlace:
    """Return where a checkpoint is, or with a root that of a stream's newest generation.

    Raises:
        ConfigError: The root has no such stream.
        LocationError: A location is not one that Holdfast can read.
        ReadError: The record cannot be read.
    """
    if root is not None:
        return _find_stream(location, root, options)
    opened = open_checkpoint(location, options)
    refuse_unseen_record(opened)
    checkpoint, above = CachingReader(opened.checkpoint), opened.root
    found = None if above is None else read_guard_record(above, checkpoint.location.name)
    is_bundle = opened.bundle is not None
    return CheckpointPlace(checkpoint=checkpoint, record=found, root=above, is_bundle=is_bundle)


def _find_stream(stream: str, root: str, options: Mapping[str, str]) -> CheckpointPlace:
    reader = open_reader(root, options)
    is_name = is_stream_name(stream)
    home = SubdirReader(reader, f"{HOME}/{stream}")
    generation = current_generation(home) if is_name else None
    if generation is None:
        raise ConfigError(
            f"{reader.location} has no record of a stream {stream}: `holdfast inspect` lists its "
            "checkpoints. Without --root, the argument is the location of a checkpoint."
        )
    place: Location = parse_location(generation.checkpoint)
    checkpoint = CachingReader(open_reader(place, options))
    is_adopted = generation.why == ADOPTED
    name = place.name if generation.why == UNDONE else generation_name(stream, generation.number)
    record = read_guard_record(reader, name, adopted_from=place if is_adopted else None)
    return CheckpointPlace(checkpoint=checkpoint, record=record, root=reader)
