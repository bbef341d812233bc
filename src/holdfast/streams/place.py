"""G1: where a stream is. Its root, its record, its current generation, its checkpoint."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast import clock
from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.read import read_checkpoint
from holdfast.errors import ConfigError, HoldfastError
from holdfast.points import reached
from holdfast.record.generations import (
    ADOPTED,
    OPENED,
    Generation,
    current_generation,
    open_generation,
)
from holdfast.record.layout import (
    check_stream_name,
    checkpoint_location,
    is_temporary,
    record_location,
)
from holdfast.record.neighbours import find_conflict
from holdfast.sinks.session import store_options
from holdfast.storage.location import Location, parse_location
from holdfast.storage.write import Writer, open_writer

_LOG = logging.getLogger("holdfast")
ROOT_SETTING = "spark.holdfast.root"


class SharedCheckpointError(HoldfastError):
    """Another stream has this checkpoint."""

    code = "SHARED_CHECKPOINT"

    def __init__(
        self,
        stream: str,
        *,
        why: str,
        how: str = "Give every stream a checkpoint of its own; remove neither.",
    ) -> None:
        super().__init__(what=f"{stream} was not started; nothing was written.", why=why, how=how)


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a stream is."""

    stream: str
    record: Writer
    generation: Generation
    checkpoint: Writer
    is_written_down: bool
    """Whether the record has this generation; one that is adopted is written once accepted."""

    def write_down(self) -> None:
        """Write the generation into the record, unless it is there.

        Raises:
            SharedCheckpointError: Another start of the stream has opened another one meanwhile.
        """
        if self.is_written_down:
            return
        if not open_generation(self.record, self.generation):
            why = "Another start of the stream has opened a generation meanwhile."
            raise SharedCheckpointError(self.stream, why=why, how="Start it again.")
        reached("generation-opened")


def find_place(
    spark: Any, stream: str, root: str | None, *, checkpoint: str | None = None
) -> Place:
    """Find the current generation of a stream, or open its first.

    Args:
        spark: The session, whose settings open the store.
        stream: Its name.
        root: Where checkpoints and records are; by default the session's.
        checkpoint: An existing checkpoint that the stream takes over.

    Raises:
        ConfigError: The name, the root or the checkpoint is not one.
        SharedCheckpointError: Another stream has the checkpoint.
        RecordError, ReadError, WriteError: The record cannot be used.
    """
    check_stream_name(stream)
    home = _find_root(spark, root)
    record = _open(spark, record_location(home, stream))
    adopted = None if checkpoint is None else parse_location(checkpoint)
    known = current_generation(record)
    generation = known or _open_first(spark, home, stream, adopted=adopted)
    if adopted is not None and parse_location(generation.checkpoint) != adopted:
        raise ConfigError(
            f"{stream} runs on {generation.checkpoint} already; it cannot take over {adopted} too."
        )
    there = _open(spark, parse_location(generation.checkpoint))
    # Written by us, so that the query id is known before Spark starts; again after a kill.
    there.put_if_absent(METADATA, msgspec.json.encode({"id": generation.query_id}))
    return Place(
        stream=stream,
        record=record,
        generation=generation,
        checkpoint=there,
        is_written_down=known is not None or adopted is None,
    )


def _find_root(spark: Any, root: str | None) -> Location:
    text = root or spark.conf.get(ROOT_SETTING, None)
    if not text:
        raise ConfigError(f"Give root=, or set {ROOT_SETTING} in the session.")
    home = parse_location(text)
    if home.scheme == "az":
        raise ConfigError(f"{text}: a guarded stream runs on disk and on S3; Azure is read only.")
    if is_temporary(home):
        _LOG.warning("holdfast: %s is where machines clean up: a restart may find nothing", home)
    return home


def _open(spark: Any, location: Location) -> Writer:
    """Open a location with what the session's `fs.s3a` settings say of its bucket."""
    return open_writer(location, store_options(spark, location))


def _open_first(spark: Any, home: Location, stream: str, *, adopted: Location | None) -> Generation:
    """Return the first generation of a stream; one that is adopted is not written down yet."""
    if adopted is not None:
        return _adopt(spark, home, stream, place=adopted)
    place = checkpoint_location(home, stream, 1)
    _refuse_conflict(_open(spark, home), stream, place)
    there = _open(spark, place)
    if there.list(OFFSETS).files or there.list(COMMITS).files:
        why = f"{place} is a checkpoint already, and no record says whose."
        how = f'If it is this stream\'s, take it over: checkpoint="{place}".'
        raise SharedCheckpointError(stream, why=why, how=how)
    record = _open(spark, record_location(home, stream))
    mine = _generation(place, str(uuid.uuid4()), why=OPENED)
    if not open_generation(record, mine):
        # Somebody else opened it first: theirs counts.
        return current_generation(record) or mine
    reached("generation-opened")
    return mine


def _adopt(spark: Any, home: Location, stream: str, *, place: Location) -> Generation:
    """Return a generation with a checkpoint that ran without Holdfast, anywhere."""
    found = read_checkpoint(_open(spark, place))
    metadata = found.metadata
    if not isinstance(metadata, QueryMetadata):
        raise ConfigError(f"{place} is not a checkpoint: it has no metadata with a query id.")
    _refuse_conflict(_open(spark, home), stream, place, query_id=metadata.query_id)
    first = max(found.commits, default=-1) + 1
    return _generation(place, metadata.query_id, why=ADOPTED, first_batch=first)


def _refuse_conflict(
    home: Writer, stream: str, place: Location, *, query_id: str | None = None
) -> None:
    conflict = find_conflict(home, stream, place, query_id=query_id)
    if conflict is not None:
        why = f"The stream {conflict.stream}: {conflict.why}."
        raise SharedCheckpointError(stream, why=why)


def _generation(place: Location, query_id: str, *, why: str, first_batch: int = 0) -> Generation:
    return Generation(
        number=1,
        checkpoint=str(place),
        query_id=query_id,
        first_batch=first_batch,
        why=why,
        opened_at=clock.now().isoformat(timespec="seconds"),
    )
