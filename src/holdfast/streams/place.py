"""G1: where a stream is. Its root, its record, its current generation, its checkpoint.

`find_place` only reads and decides. What is missing is created by `Place.write_down`, after the
rules have passed: first the generation, then Spark's `metadata` with the generation's query id. A
start that was killed between the two leaves a generation without `metadata`; the next one creates
it. Nothing is ever created in an adopted checkpoint.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from holdfast import clock
from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS
from holdfast.checkpoint.metadata import QueryMetadata, parse_metadata
from holdfast.checkpoint.read import read_checkpoint
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.checkpoint.whole import read_whole
from holdfast.errors import ConfigError, HoldfastError, UnsafePathError
from holdfast.events import emit
from holdfast.events.event import Warned
from holdfast.events.starts import GenerationOpened
from holdfast.record.documents import refuse_directory
from holdfast.record.generations import (
    ADOPTED,
    OPENED,
    RETIRED,
    Generation,
    check_checkpoint,
    current_generation,
    open_generation,
    refuse_generation,
)
from holdfast.record.layout import (
    HOME,
    changing_part,
    check_stream_name,
    checkpoint_location,
    is_temporary,
    record_location,
)
from holdfast.record.neighbours import NeighbourError, find_conflict
from holdfast.record.repairs import unfinished_repair
from holdfast.record.shape import check_shape
from holdfast.sinks.session import place_of, writer_of
from holdfast.storage.location import Location, needs_session, parse_location
from holdfast.storage.read import Reader
from holdfast.storage.write import Writer
from holdfast.streams.refusal import UnfinishedRepairStartError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where a stream is."""

    stream: str
    record: Writer
    generation: Generation
    checkpoint: Writer
    is_written_down: bool
    """Whether the record has this generation; a new one is written once the rules have passed."""

    @property
    def plan_root(self) -> str | None:
        """The root as `holdfast plan` takes it; None where only a Spark session can write."""
        root = str(self.record.location).removesuffix(f"/{HOME}/{self.stream}")
        return None if needs_session(root) else root

    def refreshed(self) -> Place:
        """Return the place as of now: another start may have opened the stream meanwhile.

        To be called with the lease in hand, which another start may have held until now.

        Raises:
            SharedCheckpointError: The other start has taken another checkpoint.
            RecordError, ReadError: The record cannot be used.
        """
        known = None if self.is_written_down else current_generation(self.record)
        if known is None:
            return self
        if known.checkpoint != self.generation.checkpoint:
            raise self._overtaken()
        return replace(self, generation=known, is_written_down=True)

    def write_down(self) -> None:
        """Create what is missing: the generation in the record, then Spark's `metadata`.

        Raises:
            SharedCheckpointError: Another start of the stream has opened another one meanwhile.
        """
        if not self.is_written_down:
            if not open_generation(self.record, self.generation):
                raise self._overtaken()
            place, number = str(self.checkpoint.location), self.generation.number
            emit(GenerationOpened(stream=self.stream, generation=number, checkpoint=place))
        if self.generation.why != ADOPTED:
            # Written by us, so that the query id is known before Spark starts.
            content = msgspec.json.encode({"id": self.generation.query_id})
            self.checkpoint.put_if_absent(METADATA, content)

    def _overtaken(self) -> SharedCheckpointError:
        why = "Another start of the stream has opened a generation meanwhile."
        return SharedCheckpointError(self.stream, why=why, how="Start it again.")


def find_place(
    spark: SparkSession | None, stream: str, root: str | None, *, checkpoint: str | None = None
) -> Place:
    """Find the current generation of a stream, or decide on its first. Nothing is written.

    Args:
        spark: The session, whose settings open the store; None where there is none.
        stream: Its name.
        root: Where checkpoints and records are; by default the session's.
        checkpoint: An existing checkpoint that the stream takes over.

    Raises:
        ConfigError: The name, the root or the checkpoint is not one.
        SharedCheckpointError: Another stream has the checkpoint.
        RecordError, ReadError: The record cannot be used.
    """
    check_stream_name(stream)
    above = _open_root(spark, root, stream)
    home = above.location
    record = writer_of(spark, record_location(home, stream))
    adopted = None if checkpoint is None else place_of(spark, checkpoint)
    known = current_generation(record)
    generation = known or _first(spark, home, stream, adopted=adopted)
    if adopted is not None and parse_location(generation.checkpoint) != adopted:
        raise ConfigError(
            f"{stream} runs on {generation.checkpoint} already; it cannot take over {adopted} too."
        )
    own = checkpoint_location(home, stream, generation.number)
    if generation.why == RETIRED:
        _refuse_unfinished(record, stream)
    check_checkpoint(record, generation, own)
    place = Place(
        stream=stream,
        record=record,
        generation=generation,
        checkpoint=writer_of(spark, _as_spelt(generation, own, adopted)),
        is_written_down=known is not None,
    )
    _check_place(place, above, own)
    return place


def _as_spelt(generation: Generation, *given: Location | None) -> Location:
    """Return where a checkpoint is, as this start spells it: Spark's settings are for that."""
    place = parse_location(generation.checkpoint)
    return next((each for each in given if each == place), place)


def _open_root(spark: SparkSession | None, root: str | None, stream: str) -> Writer:
    """Return what writes below the root, once the stream's record is seen to have its shape."""
    text = root or (spark.conf.get(ROOT_SETTING, None) if spark else None)
    if not text:
        raise ConfigError(f"Give root=, or set {ROOT_SETTING} in the session.")
    home = place_of(spark, text)
    if home.kind.with_account and "@" not in home.bucket:
        raise ConfigError(f"{text}: Spark must know the account: {home.kind.with_account}.")
    if is_temporary(home):
        emit(Warned(f"{home} is a temporary directory; a reboot may delete it"))
    if (part := changing_part(home)) is not None:
        changing = "If that changes, every start is a new stream, which reads everything again"
        emit(Warned(f"the root {home} holds {part}. {changing}: use one root for good"))
    above = writer_of(spark, home)
    check_shape(above, stream)
    return above


def _check_place(place: Place, root: Reader, own: Location) -> None:
    """Refuse a checkpoint below the root that is a link, or an adopted one that is gone."""
    if place.generation.why != ADOPTED:
        _check_confined(root, own)
    elif place.is_written_down:
        _check_adopted(place.record, place.generation, place.checkpoint)


def _check_confined(root: Reader, checkpoint: Location) -> None:
    """Refuse a checkpoint below the root that is a link to elsewhere: Spark would write there."""
    if not root.location.is_local:
        return
    try:
        root.stat(checkpoint.name)
    except UnsafePathError as error:
        what = f"The checkpoint of the stream cannot be used: {checkpoint}."
        raise refuse_directory(checkpoint, what=what, why=error.why) from error


def _check_adopted(record: Reader, generation: Generation, there: Reader) -> None:
    """Refuse an adopted checkpoint that is not there any more: none is created in its place."""
    found = _read_metadata(there)
    if isinstance(found, QueryMetadata) and found.query_id == generation.query_id:
        return
    query_id = found.query_id if isinstance(found, QueryMetadata) else "none"
    raise refuse_generation(
        record,
        generation,
        why=f"It names the checkpoint {there.location} of query {generation.query_id}; the query "
        f"id there is {query_id}.",
    )


def _read_metadata(there: Reader) -> QueryMetadata | Unparsed | None:
    raw = read_whole(there, METADATA)
    return parse_metadata(METADATA, raw) if isinstance(raw, bytes) else raw


def _refuse_unfinished(record: Reader, stream: str) -> None:
    """Name a retirement that was begun and has not ended, or its undo: either can be finished.

    Raises:
        UnfinishedRepairStartError: There is one.
    """
    found = unfinished_repair(record)
    if found is not None:
        raise UnfinishedRepairStartError(stream, goal=found.goal, journal=found.journal)


def _first(
    spark: SparkSession | None, home: Location, stream: str, *, adopted: Location | None
) -> Generation:
    """Return what the first generation of a stream will be."""
    if adopted is not None:
        return _adopt(spark, home, stream, place=adopted)
    place = checkpoint_location(home, stream, 1)
    there = writer_of(spark, place)
    found = _read_metadata(there)
    query_id = found.query_id if isinstance(found, QueryMetadata) else None
    try:
        _refuse_conflict(writer_of(spark, home), stream, place, query_id=query_id)
    except NeighbourError as error:
        listing = there.list()
        if listing.files or listing.directories:
            raise
        # Nothing is there, so no other stream runs there, whatever its record says.
        emit(Warned(f"{error.what} {error.why} {error.how}"))
    if there.list(OFFSETS).files or there.list(COMMITS).files:
        why = f"{place} is a checkpoint already, and no record says whose."
        how = f'If it is this stream\'s, take it over: checkpoint="{place}".'
        raise SharedCheckpointError(stream, why=why, how=how)
    return _generation(place, query_id or str(uuid.uuid4()), why=OPENED)


def _adopt(
    spark: SparkSession | None, home: Location, stream: str, *, place: Location
) -> Generation:
    """Return a generation with a checkpoint that ran without Holdfast, anywhere."""
    found = read_checkpoint(writer_of(spark, place))
    metadata = found.metadata
    if not isinstance(metadata, QueryMetadata):
        raise ConfigError(f"{place} is not a checkpoint: it has no metadata with a query id.")
    _refuse_conflict(writer_of(spark, home), stream, place, query_id=metadata.query_id)
    first = max(found.commits, default=-1) + 1
    return _generation(place, metadata.query_id, why=ADOPTED, first_batch=first)


def _refuse_conflict(home: Writer, stream: str, place: Location, *, query_id: str | None) -> None:
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
