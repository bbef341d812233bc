"""G1: where a stream is. Its root, its record, its current generation, its checkpoint."""

from __future__ import annotations

import logging
import uuid
from dataclasses import dataclass
from typing import Any

import msgspec

from holdfast import clock
from holdfast.checkpoint.layout import METADATA
from holdfast.errors import ConfigError, HoldfastError
from holdfast.record.generations import Generation, current_generation, open_generation
from holdfast.record.layout import (
    check_stream_name,
    checkpoint_location,
    is_temporary,
    record_location,
)
from holdfast.record.neighbours import find_conflict
from holdfast.storage.location import Location, parse_location
from holdfast.storage.options import from_hadoop
from holdfast.storage.write import Writer, open_writer

_LOG = logging.getLogger("holdfast")
ROOT_SETTING = "spark.holdfast.root"


class SharedCheckpointError(HoldfastError):
    """Another stream has this checkpoint."""

    code = "SHARED_CHECKPOINT"

    def __init__(self, stream: str, *, why: str) -> None:
        super().__init__(
            what=f"{stream} was not started; nothing was written.",
            why=why,
            how="Give every stream a checkpoint of its own; remove neither.",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a stream is."""

    stream: str
    record: Writer
    generation: Generation
    checkpoint: Writer


def find_place(spark: Any, stream: str, root: str | None) -> Place:
    """Find the current generation of a stream, or open its first.

    Raises:
        ConfigError: The name or the root is not one.
        SharedCheckpointError: Another stream has the checkpoint.
        RecordError, ReadError, WriteError: The record cannot be used.
    """
    check_stream_name(stream)
    text = root or spark.conf.get(ROOT_SETTING, None)
    if not text:
        raise ConfigError(f"Give root=, or set {ROOT_SETTING} in the session.")
    home = parse_location(text)
    if home.scheme == "az":
        raise ConfigError(f"{text}: a guarded stream runs on disk and on S3; Azure is read only.")
    if is_temporary(home):
        _LOG.warning("holdfast: %s is where machines clean up: a restart may find nothing", home)
    options = _store_options(spark, home)
    record = open_writer(record_location(home, stream), options)
    generation = current_generation(record) or _open_first(home, record, options, stream=stream)
    checkpoint = open_writer(parse_location(generation.checkpoint), options)
    # Written by us, so that the query id is known before Spark starts; again after a kill.
    document = msgspec.json.encode({"id": generation.query_id})
    checkpoint.put_if_absent(METADATA, document)
    return Place(stream=stream, record=record, generation=generation, checkpoint=checkpoint)


def _store_options(spark: Any, location: Location) -> dict[str, str]:
    """Return what the session's `fs.s3a` settings say of a bucket."""
    if location.scheme != "s3":
        return {}
    return from_hadoop(dict(spark.sparkContext.getConf().getAll()), bucket=location.bucket)


def _open_first(
    home: Location, record: Writer, options: dict[str, str], *, stream: str
) -> Generation:
    place = checkpoint_location(home, stream, 1)
    there = open_writer(place, options)
    conflict = find_conflict(open_writer(home, options), stream, place)
    if conflict is not None:
        raise SharedCheckpointError(stream, why=f"The stream {conflict.stream}: {conflict.why}.")
    if there.list("offsets").files or there.list("commits").files:
        raise SharedCheckpointError(
            stream, why=f"{place} is a checkpoint already, and no record says whose."
        )
    generation = Generation(
        number=1,
        checkpoint=str(place),
        query_id=str(uuid.uuid4()),
        first_batch=0,
        why="opened",
        opened_at=clock.now().isoformat(timespec="seconds"),
    )
    if not open_generation(record, generation):
        # Somebody else opened it first: theirs counts.
        found = current_generation(record)
        assert found is not None
        return found
    return generation
