"""The form of a rule's case: what is known of a stream, as TOML tables."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import msgspec

from holdfast.evidence.case import Neighbour
from holdfast.evidence.declarative import FlowPlace
from holdfast.evidence.outputs.delta import DeltaOutput
from holdfast.evidence.outputs.files import FileOutput
from holdfast.evidence.outputs.iceberg import IcebergOutput
from holdfast.evidence.refusal_codes import RefusalCode
from holdfast.formats.event_log.history import EventLogHistory
from holdfast.sources.delta.found import DeltaSource
from holdfast.sources.files.found import FileSource
from holdfast.sources.iceberg.found import IcebergSource
from holdfast.sources.kafka.found import KafkaSource
from holdfast.testing.query_cases import QueryCase, StateCase

STREAM = "readings"
ROOT = "s3://lake/streams"
CHECKPOINT = f"{ROOT}/{STREAM}"
QUERY_ID = "6f0c0000-0000-4000-8000-000000000000"


class CasePart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of the file."""


class RowCase(CasePart, frozen=True, kw_only=True):
    """The sink's ledger row."""

    last_batch: int
    generation: int = 1
    query_id: str = QUERY_ID
    checkpoint: str = CHECKPOINT
    digest: str | None = None
    """By default that of the checkpoint's own entry."""


class SinkCase(CasePart, frozen=True, kw_only=True):
    """What one sink holds."""

    name: str = "public.readings"
    row: RowCase | None = None
    contradicts: str | None = None
    native_batch: int | None = None
    is_added: bool = False
    unreadable: str | None = None
    """Why its ledger cannot be read."""
    owners: tuple[str, ...] = ()
    forgotten_epoch: int = 0


class ExpectedFinding(CasePart, frozen=True, kw_only=True):
    """A finding: what it must say, and what accepting it writes into the ledger row."""

    says: tuple[str, ...]
    accepting: str = ""
    accepted_batch: int | None = None
    sink: str | None = None
    """With an empty name, one that is about the query; by default the sink of a guarded stream."""


class RefusedQuery(CasePart, frozen=True, kw_only=True):
    """What Spark will say of the query that is to be started."""

    code: RefusalCode = RefusalCode.QUERY_CHANGED
    error: str
    because: str
    follows_from: tuple[str, ...]


class RuleCase(CasePart, frozen=True, kw_only=True):
    """What is known of a stream, and what a rule finds in it."""

    name: str
    finds: tuple[ExpectedFinding, ...]
    planned: int = -1
    committed: int = -1
    files: Mapping[str, str] = msgspec.field(default_factory=dict)
    """Files of the checkpoint, in the place of those that `planned` and `committed` make."""
    gone: tuple[str, ...] = ()
    """Files of the checkpoint that are not there."""
    location: str = ""
    """Where a bare checkpoint is; by default in memory."""
    is_file: bool = False
    """Whether a file is in the place of a bare checkpoint."""
    times: Mapping[str, datetime] = msgspec.field(default_factory=dict)
    """When files of the checkpoint were written."""
    now: datetime = datetime(2026, 11, 15, 6, 0, tzinfo=UTC)
    spark: str = ""
    """The version that is started; by default the newest that can have written the checkpoint."""
    is_bare: bool = False
    """Whether it is a checkpoint without a stream of Holdfast."""
    is_diagnosed: bool = False
    """Whether a guarded stream is looked at from outside, so that its next start is predicted."""
    kafka: KafkaSource | None = None
    """What was found of source 0; likewise of the other kinds."""
    delta: DeltaSource | None = None
    iceberg: IcebergSource | None = None
    file_source: FileSource | None = None
    lossless_for: timedelta | None = None
    """For how long a resume still finds everything that it needs of source 0."""
    not_probed: str | None = None
    """Why source 0 was not looked at."""
    delta_output: DeltaOutput | None = None
    delta_outputs: tuple[DeltaOutput, ...] = ()
    """Where the query writes several."""
    iceberg_output: IcebergOutput | None = None
    file_output: FileOutput | None = None
    neighbours: tuple[Neighbour, ...] = ()
    error: str | None = None
    """The log or the message that is given with the checkpoint."""
    event_log: EventLogHistory | None = None
    """What Spark's event log tells of the query."""
    flow: FlowPlace | None = None
    """The flow of Spark Declarative Pipelines whose checkpoint it is."""
    generation: int = 1
    adopted_at: int | None = None
    """The first batch under guard of a checkpoint that was adopted."""
    sources: tuple[str, ...] = ()
    """What the query reads, as Spark names it."""
    sources_before: tuple[str, ...] | None = None
    query_refused: RefusedQuery | None = None
    query: QueryCase | None = None
    """The query that is to be started."""
    state: Mapping[str, StateCase] = msgspec.field(default_factory=dict)
    """The columns of the state of each operator in the checkpoint, by its id."""
    sinks: tuple[SinkCase, ...] = (SinkCase(),)
