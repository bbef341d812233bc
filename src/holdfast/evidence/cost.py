"""What a checkpoint costs per batch: files and bytes, by the names, sizes and times of its files.

Spark writes a checkpoint in every batch. A file belongs to the batch that its name has: `offsets/7`
and `commits/7` to batch 7, version 8 of the state too. RocksDB's data files have other names: they
count for the batches that were committed since the time of the oldest one.
"""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterable, Mapping, Sequence

import msgspec

from holdfast.checkpoint.layout import COMMITS, OFFSETS, SOURCES, STATE, Kind, parse_name
from holdfast.checkpoint.offsets import OffsetEntry
from holdfast.checkpoint.read import Checkpoint
from holdfast.checkpoint.state.files import CHECKSUM_SUFFIX, StateFileKind, parse_state_name
from holdfast.evidence.cost_requests import Requests, requests_of
from holdfast.evidence.state import ROCKSDB, provider_of
from holdfast.storage.read import FileInfo

_PART = re.compile(r"(offsets|commits|sources/[0-9]+|state/[0-9]+)/")
_DATA = re.compile(r"/(SSTs|logs)/[^/]+")
_FINEST_S = 5.0
"""Shorter batches cannot be told by times that are whole seconds."""
OTHER = "other"


class Range(msgspec.Struct, frozen=True, kw_only=True):
    """The median of some figures, with the lowest and the highest."""

    median: float
    lowest: float
    highest: float


class PartCost(msgspec.Struct, frozen=True, kw_only=True):
    """One part of a checkpoint: a log, or the state of an operator."""

    name: str
    """Its directory: `offsets`, `sources/0`, `state/0`."""
    files: float | None
    """Written in one batch, as a mean; None if that is not known. Checksums count too."""
    size_bytes: float | None
    """Written in one batch, as a mean; None if that is not known."""
    kept_files: int
    kept_bytes: int


class Compaction(msgspec.Struct, frozen=True, kw_only=True):
    """The log of a file source or a similar one, which is rewritten as one file now and then."""

    path: str
    """The newest compact file: it has every entry so far."""
    size_bytes: int
    every: int | None
    """After so many batches, by the two newest; None if there is one only."""


class CheckpointCost(msgspec.Struct, frozen=True, kw_only=True):
    """What a checkpoint costs."""

    batches: int
    """Committed ones that it was counted over."""
    first: int | None
    parts: tuple[PartCost, ...]
    interval_s: Range | None
    """From the planning of one batch to that of the next; None with fewer than two."""
    batch_s: Range | None
    """From `offsets/N` to `commits/N`, by the store's clock; None where it does not tell."""
    why_no_batch_s: str
    compactions: tuple[Compaction, ...]
    providers: tuple[str, ...]
    """Of the state: `RocksDB with changelog checkpointing, state format 2`."""
    is_async: bool
    """Whether both logs lack batches between their oldest and newest."""
    requests: Requests | None
    """What a batch would ask of S3; None where files per batch are not known."""

    @property
    def kept_files(self) -> int:
        """All files."""
        return sum(part.kept_files for part in self.parts)

    @property
    def kept_bytes(self) -> int:
        """All bytes."""
        return sum(part.kept_bytes for part in self.parts)

    @property
    def state_share(self) -> float | None:
        """Of the bytes that a batch writes; None if those are not known."""
        sizes = {part.name: part.size_bytes for part in self.parts if part.name != OTHER}
        if any(size is None for size in sizes.values()) or not sum(_known(sizes.values())):
            return None
        state = sum(_known(size for name, size in sizes.items() if name.startswith(STATE)))
        return state / sum(_known(sizes.values()))


def _known(figures: Iterable[float | None]) -> list[float]:
    return [each for each in figures if each is not None]


class _Counted(msgspec.Struct):
    """The files of one part, as they are listed: a checkpoint can have millions."""

    files: int = 0
    size_bytes: int = 0
    by_batch: dict[int, tuple[int, int, int]] = msgspec.field(default_factory=dict)
    """Files and bytes of each batch, and how many of them are no checksums of Hadoop's."""
    data: list[tuple[float, int]] = msgspec.field(default_factory=list)
    """RocksDB's own files: when each was written, and its size."""
    compacts: dict[int, FileInfo] = msgspec.field(default_factory=dict)
    kinds: set[StateFileKind] = msgspec.field(default_factory=set)
    has_ids: bool = False

    def add(self, info: FileInfo) -> None:
        """Count a file."""
        self.files += 1
        self.size_bytes += info.size_bytes
        if _DATA.search(info.path):
            self.data.append((info.modified.timestamp(), info.size_bytes))
            return
        batch = self._batch_of(info)
        if batch is not None:
            files, size, own = self.by_batch.get(batch, (0, 0, 0))
            own += parse_name(info.path).kind is not Kind.SIDECAR
            self.by_batch[batch] = (files + 1, size + info.size_bytes, own)

    def _batch_of(self, info: FileInfo) -> int | None:
        """Return the batch that has written a file; None for one that is written once."""
        name = parse_name(info.path)
        is_sidecar = name.kind is Kind.SIDECAR
        target = name.target if is_sidecar and name.target else info.path.rpartition("/")[2]
        if info.path.startswith(STATE):
            found = parse_state_name(target.removesuffix(CHECKSUM_SUFFIX), info.size_bytes)
            if found is None:
                return None
            self.kinds.add(found.kind)
            self.has_ids |= found.unique_id is not None
            return found.version - 1
        own = parse_name(target)
        if own.kind is Kind.COMPACT and own.batch_id is not None and not is_sidecar:
            self.compacts[own.batch_id] = info
        return own.batch_id if own.kind in (Kind.ENTRY, Kind.COMPACT) else None


def find_cost(checkpoint: Checkpoint, files: Iterable[FileInfo]) -> CheckpointCost:
    """Return what a checkpoint costs.

    Args:
        checkpoint: As read.
        files: All of them, in any order.
    """
    parts: dict[str, _Counted] = {}
    times: dict[str, dict[int, float]] = {OFFSETS: {}, COMMITS: {}}
    for info in files:
        matched = _PART.match(info.path)
        part = matched[1] if matched else OTHER
        parts.setdefault(part, _Counted()).add(info)
        name = parse_name(info.path)
        if part in times and name.kind is Kind.ENTRY and name.batch_id is not None:
            times[part][name.batch_id] = info.modified.timestamp()
    window = range(min(checkpoint.commits, default=0), max(checkpoint.commits, default=-1) + 1)
    since = min(times[COMMITS].values(), default=None) if _is_sound(times[COMMITS]) else None
    found = tuple(
        _part(name, parts[name], window=window, since=since) for name in sorted(parts, key=_order)
    )
    batch_s, why = _batch_times(times)
    return CheckpointCost(
        batches=len(window),
        first=window.start if window else None,
        parts=found,
        interval_s=_interval(checkpoint),
        batch_s=batch_s,
        why_no_batch_s=why,
        compactions=tuple(_compactions(parts)),
        providers=tuple(_providers(checkpoint, parts)),
        is_async=_is_async(checkpoint),
        requests=_requests(found, parts, window),
    )


def _order(name: str) -> tuple[int, str]:
    places = (OFFSETS, COMMITS, SOURCES, STATE)
    home = name.partition("/")[0]
    return (places.index(home) if home in places else len(places)), name


def _part(name: str, counted: _Counted, *, window: range, since: float | None) -> PartCost:
    files = size = None
    is_per_batch = name != OTHER and bool(window) and (since is not None or not counted.data)
    if is_per_batch:
        written = [counted.by_batch[batch] for batch in window if batch in counted.by_batch]
        data = [each for at, each in counted.data if since is not None and at >= since]
        files = (sum(count for count, _, _ in written) + len(data)) / len(window)
        size = (sum(each for _, each, _ in written) + sum(data)) / len(window)
    return PartCost(
        name=name,
        files=files,
        size_bytes=size,
        kept_files=counted.files,
        kept_bytes=counted.size_bytes,
    )


def _is_sound(times: Mapping[int, float]) -> bool:
    """Return whether the times of files are those of their writing: a copy has others."""
    ordered = [times[batch] for batch in sorted(times)]
    return len(ordered) > 1 and ordered == sorted(ordered) and ordered[0] < ordered[-1]


def _batch_times(times: Mapping[str, Mapping[int, float]]) -> tuple[Range | None, str]:
    planned, done = times[OFFSETS], times[COMMITS]
    both = sorted(planned.keys() & done.keys())
    if len(both) <= 1:
        return None, "fewer than two batches have both entries"
    took = [done[batch] - planned[batch] for batch in both]
    if not (_is_sound(planned) and _is_sound(done)) or min(took) < 0:
        return None, "the times of the files are not those of their writing, as after a copy"
    found = _range(took)
    is_coarse = all(each == int(each) for each in (*planned.values(), *done.values()))
    if is_coarse and found.median < _FINEST_S:
        return None, "the times are whole seconds, which is too coarse for these batches"
    return found, ""


def _interval(checkpoint: Checkpoint) -> Range | None:
    planned: dict[int, int] = {
        batch: entry.metadata.batch_timestamp_ms
        for batch, entry in checkpoint.offsets.items()
        if isinstance(entry, OffsetEntry) and entry.metadata is not None
    }
    gaps = [
        (planned[batch + 1] - at) / 1_000
        for batch, at in planned.items()
        if at and planned.get(batch + 1)
    ]
    return _range(gaps) if gaps and min(gaps) >= 0 else None


def _range(figures: Sequence[float]) -> Range:
    return Range(median=statistics.median(figures), lowest=min(figures), highest=max(figures))


def _compactions(parts: Mapping[str, _Counted]) -> Iterable[Compaction]:
    for name in sorted(parts):
        found = sorted(parts[name].compacts)
        if found:
            info = parts[name].compacts[found[-1]]
            every = found[-1] - found[-2] if len(found) > 1 else None
            yield Compaction(path=info.path, size_bytes=info.size_bytes, every=every)


def _providers(checkpoint: Checkpoint, parts: Mapping[str, _Counted]) -> Iterable[str]:
    for operator in checkpoint.state:
        counted = parts.get(f"{STATE}/{operator.operator_id}")
        said = provider_of(operator)
        if said is None or counted is None:
            continue
        if said == ROCKSDB:
            has_changes = StateFileKind.CHANGELOG in counted.kinds
            said += " with changelog checkpointing" if has_changes else " with snapshots only"
        yield said + (", state format 2" if counted.has_ids else ", state format 1")


def _is_async(checkpoint: Checkpoint) -> bool:
    """Return whether the same batches are missing in both logs."""
    offsets, commits = sorted(checkpoint.offsets), sorted(checkpoint.commits)
    if not commits or not offsets:
        return False
    span = range(max(offsets[0], commits[0]), min(offsets[-1], commits[-1]) + 1)
    missing = {batch for batch in span if batch not in checkpoint.offsets}
    return bool(missing) and missing == {b for b in span if b not in checkpoint.commits}


def _requests(
    found: Sequence[PartCost], parts: Mapping[str, _Counted], window: range
) -> Requests | None:
    """Return what a batch asks of S3, where Hadoop keeps no checksums."""
    if not window or any(part.files is None for part in found if part.name != OTHER):
        return None
    own = {
        name: sum(counted.by_batch.get(batch, (0, 0, 0))[2] for batch in window) / len(window)
        for name, counted in parts.items()
    }
    data = sum(len(each.data) for each in parts.values()) / len(window)
    state = sum(count for name, count in own.items() if name.startswith(STATE))
    return requests_of(log_files=sum(own.values()) - state, state_files=state, data_files=data)
