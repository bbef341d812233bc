"""Collects a case: the checkpoint, its record and ledgers, and what else was asked to look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from holdfast import clock
from holdfast.bundle.open import open_checkpoint
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.sources import parse_offset
from holdfast.errors import ConfigError, HoldfastError
from holdfast.evidence.auto_loader import read_schema_times
from holdfast.evidence.case import Case, Neighbour
from holdfast.evidence.checkpoint_evidence import Evidence
from holdfast.evidence.collect import collect, collect_among_many
from holdfast.evidence.declarative import FlowPlace, find_flow
from holdfast.evidence.guard_record import (
    GuardRecord,
    UnreadableRecord,
    read_guard_record,
    settle_state,
)
from holdfast.evidence.outputs.output import NotRead, Output
from holdfast.evidence.overview import overview_of
from holdfast.evidence.read_at_start import unverified_files
from holdfast.evidence.sources.probe import SourceProbe
from holdfast.evidence.times import collect_times
from holdfast.evidence.versions import SparkVersion
from holdfast.record.generations import ADOPTED, UNDONE, current_generation
from holdfast.record.layout import HOME, generation_name, is_stream_name
from holdfast.record.runs import last_topic_ids
from holdfast.storage.below import ReaderBelow
from holdfast.storage.location import Location, parse_location
from holdfast.storage.open import open_reader
from holdfast.storage.read import Reader
from holdfast.storage.remembered import RememberedReader

if TYPE_CHECKING:
    from holdfast.diagnosis.probing import SourceLooks
    from holdfast.evidence.spark_error import ErrorReport
    from holdfast.record.run_history import RunHistory

_MOST_TRIES = 3
"""To read a checkpoint and its sinks at one moment."""
_RUNS = "the query is running: it wrote batches while checkpoint and sink were read. Stop it first"


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """What to look at, as it was asked for."""

    location: str
    """Of a checkpoint; with a root, the name of a stream."""
    root: str | None = None
    options: Mapping[str, str] = field(default_factory=dict)
    """Of the store, as `--storage-option` gives them."""
    spark: SparkVersion | None = None
    """The version that will be started; by default the newest that can have written it."""
    deep: bool = False
    """Whether every log entry is read, and every state file that the next start loads. On disk log
    entries always are, and state files up to 4 MB: it costs little there."""
    every_entry: bool = False
    """Whether every log entry is read, also in a bucket: a goal that names an earlier batch needs
    them."""
    probe: bool = False
    """Whether the sources are asked what they can still give."""
    sources: Mapping[str, str] = field(default_factory=dict)
    """Where a source is, by its place in the query: bootstrap servers, or a table's location."""
    kafka_config: str | None = None
    """A file with properties of a Kafka client."""
    sinks: tuple[str, ...] = ()
    """Locations of sinks without a ledger of Holdfast."""
    among: str | None = None
    """A directory of checkpoints to compare this one with."""
    error: ErrorReport | None = None
    """What a log or a stack trace of the last run tells."""
    history: bool = False
    """Whether every run of a guarded stream is read: one request for each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
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
        home = ReaderBelow(self.root, f"{HOME}/{guard.stream}")
        try:
            return last_topic_ids(
                home, before=guard.lease.epoch + 1, generation=guard.generation.number
            )
        except HoldfastError as error:
            return error.why


def collect_case(looks: Looks) -> Case:
    """Collect everything that was asked for.

    Raises:
        ConfigError: The root has no such stream.
        LocationError: A location is not one that Holdfast can read.
        ReadError: A directory of the checkpoint cannot be listed; nothing can be said then.
    """
    place = _find(looks)
    for _ in range(_MOST_TRIES):
        case = _collect_case(place, looks)
        if not _has_moved(place, case):
            return case
    unread = (NotRead(shown=each.shown, why=_RUNS) for each in case.outputs)
    return replace(case, outputs=tuple(unread))


def _has_moved(place: _Place, case: Case) -> bool:
    """Return whether the query wrote a batch while its sinks were read: they are ahead then."""
    following = (f"offsets/{case.newest_planned + 1}", f"commits/{case.newest_committed + 1}")
    return bool(case.outputs) and any(place.checkpoint.stat(each) for each in following)


def _collect_case(place: _Place, looks: Looks) -> Case:
    evidence = _collect(place, looks)
    record = place.guard
    overview = settle_state(overview_of(evidence, spark=looks.spark), record)
    case = Case(
        checkpoint=overview.checkpoint,
        now=clock.now(),
        overview=overview,
        record=record,
        history=_read_history(place) if looks.history else None,
        root=place.record_root,
        record_unread=place.record.why if isinstance(place.record, UnreadableRecord) else None,
        repaired=_find_repaired(place, overview.checkpoint),
        times={
            **collect_times(place.checkpoint),
            **read_schema_times(place.checkpoint, overview.checkpoint),
        },
        neighbours=_find_neighbours(overview.checkpoint, looks),
        sources=_probe(place, overview.checkpoint, looks),
        outputs=_read_outputs(looks),
        flow=_find_flow(place, looks),
        error=looks.error,
    )
    if record is None or record.is_replaced or place.is_bundle:
        return case
    from holdfast.diagnosis.ledgers import collect_ledgers_of  # noqa: PLC0415 - imports the sinks

    stream = collect_ledgers_of(
        record, place.checkpoint, evidence, spark=overview.spark, options=looks.options
    )
    return replace(case, stream=stream)


def _read_history(place: _Place) -> RunHistory | None:
    """Return every run of a guarded stream; None without a record."""
    if place.guard is None or place.root is None:
        return None
    from holdfast.record.run_history import read_history  # noqa: PLC0415 - few need it

    return read_history(ReaderBelow(place.root, f"{HOME}/{place.guard.stream}"))


def _find_repaired(place: _Place, checkpoint: Checkpoint) -> frozenset[str]:
    """Return which files that no checksum vouches for were written by a repair."""
    found = unverified_files(checkpoint)
    if place.root is None or not found:
        return frozenset()
    from holdfast.record.repaired_files import find_repaired  # noqa: PLC0415 - few need it

    return find_repaired(place.root, place.checkpoint, found)


def _read_outputs(looks: Looks) -> tuple[Output, ...]:
    if not looks.sinks:
        return ()
    # A reader per kind of sink and of source is imported only where one is asked for.
    from holdfast.diagnosis.outputs import read_output  # noqa: PLC0415

    return tuple(read_output(each, looks.options) for each in looks.sinks)


def _find_flow(place: _Place, looks: Looks) -> FlowPlace | None:
    """Return the flow of Spark Declarative Pipelines that a checkpoint belongs to, if it does."""
    if place.is_bundle:
        return None
    return find_flow(
        place.checkpoint.location,
        lambda root: open_reader(root, looks.options),
        (open_reader(each, looks.options) for each in looks.sinks),
    )


def probe_by_ends(looks: Looks, ends: Mapping[str, str]) -> tuple[SourceProbe, ...]:
    """Ask the sources of a stream whose checkpoint is gone, from where its sinks end.

    Args:
        looks: Where the stream and its sources are.
        ends: How far each source was read, as a ledger row has it.

    Raises:
        ConfigError: A source is named that the stream does not have.
        ReadError: The record cannot be read.
    """
    from holdfast.diagnosis.probing import probe_needed  # noqa: PLC0415 - as above

    place = _find(looks)
    needed = {source: parse_offset(end) for source, end in ends.items()}
    return probe_needed(needed, _asked(place, looks))


def _probe(place: _Place, checkpoint: Checkpoint, looks: Looks) -> tuple[SourceProbe, ...]:
    if not looks.probe:
        return ()
    from holdfast.diagnosis.probing import probe_sources  # noqa: PLC0415 - as above

    return probe_sources(checkpoint, place.checkpoint, _asked(place, looks))


def _asked(place: _Place, looks: Looks) -> SourceLooks:
    from holdfast.diagnosis.probing import SourceLooks  # noqa: PLC0415 - as above

    return SourceLooks(
        given=looks.sources,
        options=looks.options,
        kafka_config=looks.kafka_config,
        contract=None if place.guard is None or place.is_bundle else place.guard.contract,
        topic_ids=place.topic_ids(),
        now=clock.now(),
    )


def _find_neighbours(own: Checkpoint, looks: Looks) -> tuple[Neighbour, ...]:
    if looks.among is None:
        return ()
    from holdfast.evidence.neighbours import find_neighbours  # noqa: PLC0415 - rarely asked for

    return find_neighbours(open_reader(looks.among, looks.options), own)


def _collect(place: _Place, looks: Looks) -> Evidence:
    reader = place.checkpoint
    reads_all = looks.deep or looks.every_entry
    if not reads_all and reader.location.scheme != "file":
        return collect_among_many(reader)
    # A bundle leaves out what is in the state files.
    return collect(reader, rows=looks.deep, verify=not place.is_bundle)


def _find(looks: Looks) -> _Place:
    if looks.root is not None:
        return _find_stream(looks.root, looks)
    opened = open_checkpoint(looks.location, looks.options)
    checkpoint, root = RememberedReader(opened.checkpoint), opened.root
    found = None if root is None else read_guard_record(root, checkpoint.location.name)
    is_bundle = opened.bundle is not None
    return _Place(checkpoint=checkpoint, record=found, root=root, is_bundle=is_bundle)


def _find_stream(root: str, looks: Looks) -> _Place:
    """Return the place of a stream's newest generation."""
    stream, reader = looks.location, open_reader(root, looks.options)
    is_name = is_stream_name(stream)
    home = ReaderBelow(reader, f"{HOME}/{stream}")
    generation = current_generation(home) if is_name else None
    if generation is None:
        raise ConfigError(
            f"{reader.location} has no record of a stream {stream}: `holdfast inspect` lists its "
            "checkpoints. Without --root, the argument is the location of a checkpoint."
        )
    place: Location = parse_location(generation.checkpoint)
    checkpoint = RememberedReader(open_reader(place, looks.options))
    is_adopted = generation.why == ADOPTED
    name = place.name if generation.why == UNDONE else generation_name(stream, generation.number)
    record = read_guard_record(reader, name, adopted_from=place if is_adopted else None)
    return _Place(checkpoint=checkpoint, record=record, root=reader)
