"""The forms `json-v1` of `holdfast inspect`: their fields, from which the schema is made.

There is one for a checkpoint and one for a directory of checkpoints; `format` tells them apart.
Within a version fields are added, never renamed or removed. The schema is committed as
docs/reference/inspect.schema.json.
"""

from __future__ import annotations

from typing import Any

import msgspec

FORMAT = "holdfast.inspect/json-v1"
DIRECTORY_FORMAT = "holdfast.inspect-directory/json-v1"


class RereadJson(msgspec.Struct):
    """A source that is read again, after a batch or from its beginning."""

    source: str
    after: int | None


class NextStartJson(msgspec.Struct, rename="camel", omit_defaults=True):
    """What the next start will do."""

    kind: str
    spark: str
    follows_from: tuple[str, ...]
    batch_id: int | None = None
    passed_over: tuple[int, ...] = ()
    rereads: tuple[RereadJson, ...] = ()
    then_fails_with: str | None = None
    unless: str | None = None
    code: str | None = None
    error: str | None = None
    because: str | None = None
    in_batch: int | None = None
    new_query_id: bool | None = None
    cause: str | None = None


class SourceJson(msgspec.Struct, rename="camel"):
    """What one source gives to a batch."""

    source: str
    kind: str
    start: Any
    end: Any
    amount: int | None
    unit: str | None


class OperatorJson(msgspec.Struct, rename="camel"):
    """One operator with state."""

    operator_id: int
    name: str | None
    provider: str | None
    partitions: int
    expected_partitions: int | None
    versions: tuple[int, ...]
    needs_version: int
    size_bytes: int
    missing: tuple[str, ...]
    damaged: tuple[str, ...]


class SinkJson(msgspec.Struct, rename="camel"):
    """A sink that the newest commit entry names."""

    name: str
    provider: str | None
    is_active: bool


class UnparsedJson(msgspec.Struct, rename="camel"):
    """A file that was not understood, or could not be read."""

    path: str
    reason: str
    unread: bool


class StoreJson(msgspec.Struct, rename="camel"):
    """One store in one partition, looked into."""

    directory: str
    operator_id: int
    partition: int
    store: str
    versions: tuple[int, ...]
    size_bytes: int
    rows: int | None
    why_not: str | None
    damaged: tuple[UnparsedJson, ...]


class BatchJson(msgspec.Struct, rename="camel"):
    """One batch."""

    batch_id: int
    planned: bool
    committed: bool
    sources: tuple[SourceJson, ...]
    conf: dict[str, str]


class FileJson(msgspec.Struct, rename="camel"):
    """One file."""

    path: str
    size_bytes: int


class LeaseJson(msgspec.Struct, rename="camel"):
    """The newest lease of a guarded stream."""

    epoch: int
    owner: str
    released: bool
    renewed: str | None


class RunJson(msgspec.Struct, rename="camel"):
    """The newest run of a guarded stream."""

    epoch: int
    spark: str
    started_at: str
    ended: str
    ended_at: str
    last_batch: int | None
    error: str


class RecordJson(msgspec.Struct, rename="camel"):
    """What Holdfast's record says of the stream; only `whyNot` when it could not be read."""

    stream: str | None = None
    generation: int | None = None
    newest_generation: int | None = None
    lease: LeaseJson | None = None
    run: RunJson | None = None
    sinks: tuple[str, ...] = ()
    has_ledgers: bool = False
    is_running: bool = False
    why_not: str | None = None


class ProbeJson(msgspec.Struct, rename="camel"):
    """What one source can still give; `whyNot` when it could not be asked."""

    source: str
    shown: str
    lossless_for_s: float | None
    lossless_by: str
    why_not: str | None


class RangeJson(msgspec.Struct):
    """A median with the lowest and the highest."""

    median: float
    lowest: float
    highest: float


class PartCostJson(msgspec.Struct, rename="camel"):
    """One part of a checkpoint: what a batch writes to it (null if not known), and what is kept."""

    name: str
    files_per_batch: float | None
    bytes_per_batch: float | None
    kept_files: int
    kept_bytes: int


class RequestsJson(msgspec.Struct):
    """What a batch asks of S3 through s3a, estimated by its files."""

    writes: float
    reads: float
    deletes: float


class TimesJson(msgspec.Struct, rename="camel"):
    """How much of a batch's time the offset log and the commit log take, as Spark reports it."""

    batches: int
    batch_ms: float
    logs_ms: float
    share: RangeJson


class CompactionJson(msgspec.Struct, rename="camel"):
    """A log that is rewritten as one file now and then: the newest such file."""

    path: str
    size_bytes: int
    every: int | None


class CostJson(msgspec.Struct, rename="camel"):
    """What a checkpoint costs; what is not known is null, and `notKnown` says why."""

    batches: int
    first_batch: int | None
    parts: tuple[PartCostJson, ...]
    kept_files: int
    kept_bytes: int
    state_share: float | None
    interval_s: RangeJson | None
    batch_s: RangeJson | None
    times: TimesJson | None
    requests: RequestsJson | None
    kept_offsets: int
    compactions: tuple[CompactionJson, ...]
    state: tuple[str, ...]
    is_async: bool
    not_known: dict[str, str]


class InspectJson(msgspec.Struct, rename="camel", tag_field="format", tag=FORMAT):
    """What `holdfast inspect` found in a checkpoint."""

    holdfast: str
    location: str
    found: bool
    summary: tuple[str, ...]
    next_start: NextStartJson
    on_other_versions: tuple[NextStartJson, ...]
    query_id: str | None
    written_by: tuple[str, ...]
    readable_by: tuple[str, ...]
    planned: tuple[int, ...]
    committed: tuple[int, ...]
    pending: tuple[int, ...]
    rewind: tuple[int, ...]
    newest_ms: int | None
    watermark_ms: int | None
    sources: tuple[SourceJson, ...]
    sinks: tuple[SinkJson, ...]
    operators: tuple[OperatorJson, ...]
    leftovers: tuple[str, ...]
    forgotten_checksums: tuple[str, ...]
    edited: tuple[str, ...]
    foreign: tuple[str, ...]
    unparsed: tuple[UnparsedJson, ...]
    stores: tuple[StoreJson, ...] | None
    batch: BatchJson | None
    files: tuple[FileJson, ...] | None
    verdict: str
    passes_check: bool
    what_to_do: str
    record: RecordJson | None
    probes: tuple[ProbeJson, ...] | None = None
    cost: CostJson | None = None


class CheckpointRowJson(msgspec.Struct, rename="camel"):
    """One checkpoint below a directory, or a directory that could not be read."""

    path: str
    location: str
    verdict: str | None
    passes_check: bool
    summary: str
    what_to_do: str | None
    next_start: NextStartJson | None
    last_batch: int | None
    newest_ms: int | None
    sources: tuple[str, ...]
    unread: str | None
    replaced_by: int | None


class DirectoryJson(msgspec.Struct, rename="camel", tag_field="format", tag=DIRECTORY_FORMAT):
    """What `holdfast inspect` found below a directory; those that need attention come first."""

    holdfast: str
    location: str
    passes_check: bool
    directories: int
    totals: dict[str, int]
    checkpoints: tuple[CheckpointRowJson, ...]


AnyInspectJson = InspectJson | DirectoryJson
"""What `--format json` prints."""
