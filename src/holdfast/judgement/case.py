"""Collects a case: the checkpoint, its record and ledgers, and what else was asked to look at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from holdfast import clock
from holdfast.checkpoint.read import Checkpoint
from holdfast.evidence.auto_loader import read_schema_times
from holdfast.evidence.case import Case, Neighbour
from holdfast.evidence.checkpoint_evidence import Evidence
from holdfast.evidence.collect import collect, collect_among_many
from holdfast.evidence.declarative import FlowPlace, find_flow
from holdfast.evidence.guard_record import UnreadableRecord, settle_state
from holdfast.evidence.outputs.output import NotRead, Output
from holdfast.evidence.overview import overview_of
from holdfast.evidence.read_at_start import unverified_files
from holdfast.evidence.times import collect_times
from holdfast.judgement.place import CheckpointPlace, find_place
from holdfast.record.layout import HOME
from holdfast.sources.probe import SourceProbe
from holdfast.sources.registry import parse_offset
from holdfast.spark_versions import SparkVersion
from holdfast.storage.below import SubdirReader
from holdfast.storage.open import open_reader

if TYPE_CHECKING:
    from holdfast.evidence.spark_error import ErrorReport
    from holdfast.record.run_history import RunHistory
    from holdfast.sources.probe import SourceLooks

_MOST_TRIES = 3
"""To read a checkpoint and its sinks at one moment."""
_RUNS = "the query is running: it wrote batches while checkpoint and sink were read. Stop it first"


class DiagnoseRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What to look at, as it was asked for."""

    location: str
    """Of a checkpoint; with a root, the name of a stream."""
    root: str | None = None
    options: Mapping[str, str] = msgspec.field(default_factory=dict)
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
    sources: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Where a source is, by its place in the query: bootstrap servers, or a table's location."""
    kafka_config: str | None = None
    """A file with properties of a Kafka client."""
    sinks: tuple[str, ...] = ()
    """Locations of sinks without a ledger of Holdfast."""
    among: str | None = None
    """A directory of checkpoints to compare this one with."""
    error: ErrorReport | None = None
    """What a log or a stack trace of the last run tells."""
    event_log: str | None = None
    """Where Spark's event logs are: a directory of many applications, or one of them."""
    history: bool = False
    """Whether every run of a guarded stream is read: one request for each."""


def collect_case(looks: DiagnoseRequest) -> Case:
    """Collect everything that was asked for.

    Raises:
        ConfigError: The root has no such stream.
        LocationError: A location is not one that Holdfast can read.
        ReadError: A directory of the checkpoint cannot be listed; nothing can be said then.
    """
    place = find_place(looks.location, root=looks.root, options=looks.options)
    for _ in range(_MOST_TRIES):
        case = _collect_case(place, looks)
        if not _has_moved(place, case):
            break
    else:
        unread = (NotRead(display_name=each.display_name, why=_RUNS) for each in case.outputs)
        case = replace(case, outputs=tuple(unread))
    if looks.event_log is None:
        return case
    from holdfast.evidence.event_log import add_event_log  # noqa: PLC0415 - rarely asked for

    return add_event_log(case, looks.event_log, looks.options)


def _has_moved(place: CheckpointPlace, case: Case) -> bool:
    """Return whether the query wrote a batch while its sinks were read: they are ahead then."""
    following = (f"offsets/{case.newest_planned + 1}", f"commits/{case.newest_committed + 1}")
    return bool(case.outputs) and any(place.checkpoint.stat(each) for each in following)


def _collect_case(place: CheckpointPlace, looks: DiagnoseRequest) -> Case:
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
    from holdfast.judgement.ledgers import collect_ledgers_of  # noqa: PLC0415 - imports the sinks

    stream = collect_ledgers_of(
        record, place.checkpoint, evidence, spark=overview.spark, options=looks.options
    )
    return replace(case, stream=stream)


def _read_history(place: CheckpointPlace) -> RunHistory | None:
    """Return every run of a guarded stream; None without a record."""
    if place.guard is None or place.root is None:
        return None
    from holdfast.record.run_history import read_history  # noqa: PLC0415 - few need it

    return read_history(SubdirReader(place.root, f"{HOME}/{place.guard.stream}"))


def _find_repaired(place: CheckpointPlace, checkpoint: Checkpoint) -> frozenset[str]:
    """Return which files that no checksum vouches for were written by a repair."""
    found = unverified_files(checkpoint)
    if place.root is None or not found:
        return frozenset()
    from holdfast.record.repaired_files import find_repaired  # noqa: PLC0415 - few need it

    return find_repaired(place.root, place.checkpoint, found)


def _read_outputs(looks: DiagnoseRequest) -> tuple[Output, ...]:
    if not looks.sinks:
        return ()
    # A reader per kind of sink and of source is imported only where one is asked for.
    from holdfast.judgement.outputs import read_output  # noqa: PLC0415

    return tuple(read_output(each, looks.options) for each in looks.sinks)


def _find_flow(place: CheckpointPlace, looks: DiagnoseRequest) -> FlowPlace | None:
    """Return the flow of Spark Declarative Pipelines that a checkpoint belongs to, if it does."""
    if place.is_bundle:
        return None
    return find_flow(
        place.checkpoint.location,
        lambda root: open_reader(root, looks.options),
        (open_reader(each, looks.options) for each in looks.sinks),
    )


def probe_by_ends(looks: DiagnoseRequest, ends: Mapping[str, str]) -> tuple[SourceProbe, ...]:
    """Ask the sources of a stream whose checkpoint is gone, from where its sinks end.

    Args:
        looks: Where the stream and its sources are.
        ends: How far each source was read, as a ledger row has it.

    Raises:
        ConfigError: A source is named that the stream does not have.
        ReadError: The record cannot be read.
    """
    from holdfast.judgement.probing import probe_needed  # noqa: PLC0415 - as above

    place = find_place(looks.location, root=looks.root, options=looks.options)
    needed = {source: parse_offset(end) for source, end in ends.items()}
    return probe_needed(needed, _asked(place, looks))


def _probe(
    place: CheckpointPlace, checkpoint: Checkpoint, looks: DiagnoseRequest
) -> tuple[SourceProbe, ...]:
    if not looks.probe:
        return ()
    from holdfast.judgement.probing import probe_sources  # noqa: PLC0415 - as above

    return probe_sources(checkpoint, place.checkpoint, _asked(place, looks))


def _asked(place: CheckpointPlace, looks: DiagnoseRequest) -> SourceLooks:
    from holdfast.sources.probe import SourceLooks  # noqa: PLC0415 - as above

    return SourceLooks(
        given=looks.sources,
        options=looks.options,
        kafka_config=looks.kafka_config,
        contract=None if place.guard is None or place.is_bundle else place.guard.contract,
        topic_ids=place.topic_ids(),
        now=clock.now(),
    )


def _find_neighbours(own: Checkpoint, looks: DiagnoseRequest) -> tuple[Neighbour, ...]:
    if looks.among is None:
        return ()
    from holdfast.evidence.neighbours import find_neighbours  # noqa: PLC0415 - rarely asked for

    return find_neighbours(open_reader(looks.among, looks.options), own)


def _collect(place: CheckpointPlace, looks: DiagnoseRequest) -> Evidence:
    reader = place.checkpoint
    reads_all = looks.deep or looks.every_entry
    if not reads_all and not reader.location.is_local:
        return collect_among_many(reader)
    # A bundle leaves out what is in the state files.
    return collect(reader, rows=looks.deep, verify=not place.is_bundle)
