"""Reads the logs around one batch: as many requests for 10,000 entries as for ten.

A start knows from its ledger which batch the sinks hold, so the newest entries are found by their
names. A page of each log, from that batch on, shows whether anything unexpected lies behind it.
Wherever the batch does not fit what is there, the logs are listed, and if need be read completely.

Names sort as text, so a page cannot show an entry behind a gap whose number has more digits. Spark
would run that batch, and the ledger refuses it as a gap.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from holdfast.checkpoint.commits import parse_commit_entry
from holdfast.checkpoint.layout import COMMITS, OFFSETS, Kind
from holdfast.checkpoint.logs import (
    Log,
    Logs,
    Parse,
    batch_of,
    named,
    read_entries,
    read_logs,
    with_late,
)
from holdfast.checkpoint.offsets import OffsetEntry, parse_offset_entry
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ids import BatchId
from holdfast.storage.read import Reader, WalkPage

T = TypeVar("T")
TAIL = 3
"""Entries of each log that `read_logs_tail` reads."""


def read_logs_near(
    reader: Reader, near: BatchId | None, *, otherwise: Callable[[Reader], Logs] = read_logs
) -> Logs:
    """Read the newest entries of both logs.

    Args:
        reader: Of the checkpoint.
        near: The newest batch that is known of; None when none is, and the logs must be listed.
        otherwise: Reads the logs where their newest entries are not as a healthy query leaves them.

    Raises:
        ReadError: A directory cannot be listed.
    """
    found = None if near is None or near < 0 else _read_at(reader, near)
    if found is not None:
        return found
    planned = [batch_of(info.path) for info in reader.list(OFFSETS).files]
    newest = max((batch for batch in planned if batch is not None), default=None)
    found = None if newest is None or newest == near else _read_at(reader, newest)
    return found or otherwise(reader)


def read_logs_tail(reader: Reader) -> Logs:
    """Read the newest entries of both logs, whatever is missing or damaged among them.

    Raises:
        ReadError: A directory cannot be listed.
    """
    commits = _tail(reader, COMMITS, parse_commit_entry)
    offsets = _tail(reader, OFFSETS, parse_offset_entry)
    done = max(commits.entries, default=-1)
    late = [batch for batch in offsets.entries if batch > done]
    first = max((min(log.entries) for log in (commits, offsets) if log.entries), default=0)
    return Logs(
        offsets=offsets,
        commits=with_late(reader, commits, late),
        first_read=BatchId(first) if first else None,
    )


def _tail(reader: Reader, log: str, parse: Parse[T]) -> Log[T]:
    names = [batch_of(info.path) for info in reader.list(log).files]
    newest = sorted((batch for batch in names if batch is not None), reverse=True)[:TAIL]
    found = read_entries(reader, log, newest, parse=parse)
    return _log(reader, log, found, newest=max(newest, default=0), page=reader.walk_page(log))


def add_commits(reader: Reader, logs: Logs, first: BatchId) -> Logs:
    """Return the logs with the commit entries from a batch on, where only the newest were read."""
    known = logs.commits.entries
    missing = [batch for batch in _batches(first, max(known, default=-1)) if batch not in known]
    return replace(logs, commits=with_late(reader, logs.commits, missing))


def _read_at(reader: Reader, near: BatchId) -> Logs | None:
    """Read the entries around a batch; None when it is not where the logs end."""
    # As in `read_logs`, commits come first, and those of planned batches are read once more.
    shown = {log: _Shown.around(reader, log, near) for log in (COMMITS, OFFSETS)}
    commits = shown[COMMITS].read(reader, near, near + 1, parse=parse_commit_entry)
    offsets = shown[OFFSETS].read(reader, near - 1, near + 1, parse=parse_offset_entry)
    if near + 1 in offsets:
        commits |= shown[COMMITS].read(reader, near + 2, near + 2, parse=parse_commit_entry)
        offsets |= shown[OFFSETS].read(reader, near + 2, near + 2, parse=parse_offset_entry)
    done = max(commits, default=near - 2)
    late = [batch for batch in offsets if batch > done]
    newest = max(offsets, default=near)
    found = Logs(
        offsets=_log(reader, OFFSETS, offsets, newest=newest, page=shown[OFFSETS].page),
        commits=with_late(
            reader, _log(reader, COMMITS, commits, newest=newest, page=shown[COMMITS].page), late
        ),
        first_read=BatchId(near - 1) if near > 1 else None,
    )
    # Names are not padded: numbers with one digit more sort elsewhere, and begin with a 1.
    longer = reader.walk_page(OFFSETS, after=f"{OFFSETS}/1{'0' * (len(str(near)) - 1)}")
    seen = [*((each.log, each.page) for each in shown.values()), (OFFSETS, longer)]
    behind = [_batch_in(log, info.path) for log, page in seen for info in page.files]
    is_end = all(batch is None or batch <= newest for batch in behind)
    return found if is_end and _fits(found, near) else None


class _Shown(msgspec.Struct, frozen=True, kw_only=True):
    """A page of one log, and where it begins."""

    log: str
    after: str
    page: WalkPage

    @classmethod
    def around(cls, reader: Reader, log: str, near: BatchId) -> _Shown:
        """List a log around a batch, and from there on."""
        after = min(f"{log}/{each}" for each in (near, max(near - 2, 0)))
        return cls(log=log, after=after, page=reader.walk_page(log, after=after))

    def read(
        self, reader: Reader, first: int, last: int, *, parse: Parse[T]
    ) -> dict[BatchId, T | Unparsed]:
        """Read the entries of some batches, without asking for those that the page has not."""
        listed = {info.path for info in self.page.files}
        end = None if self.page.is_last else max(listed, default=self.after)
        batches = [
            batch
            for batch in _batches(first, last)
            if (path := f"{self.log}/{batch}") in listed
            or path <= self.after
            or (end is not None and path > end)
        ]
        return read_entries(reader, self.log, batches, parse=parse)


def _batches(first: int, last: int) -> list[BatchId]:
    return [BatchId(batch) for batch in range(max(first, 0), last + 1)]


def _batch_in(log: str, path: str) -> BatchId | None:
    return batch_of(path) if posixpath.dirname(path) == log else None


def _log(
    reader: Reader,
    log: str,
    entries: Mapping[BatchId, T | Unparsed],
    *,
    newest: int,
    page: WalkPage,
) -> Log[T]:
    paths = [info.path for info in page.files if posixpath.dirname(info.path) == log]
    deeper = [info.path for info in page.files if posixpath.dirname(info.path) != log]
    forgotten = [f"{log}/.{each}.crc" for each in (newest, newest + 1) if each not in entries]
    is_kept = reader.location.kind.has_checksum_files
    return Log(
        entries=dict(sorted(entries.items())),
        leftovers=named(paths, Kind.TEMP),
        lone_sidecars=tuple(path for path in forgotten if is_kept and reader.stat(path)),
        stale_sidecars=(),
        foreign=(*named(paths, Kind.FOREIGN, Kind.COMPACT), *deeper),
        directories=tuple(dict.fromkeys("/".join(path.split("/")[:2]) for path in deeper)),
    )


def _fits(found: Logs, near: BatchId) -> bool:
    """Return whether the entries that Spark reads at a start are all among those found."""
    planned, done = found.offsets.entries, max(found.commits.entries, default=-1)
    if near not in planned or (near > 0 and near - 1 not in planned):
        return False
    newest = max(planned)
    is_end = newest < near + 2 and near - 1 <= done <= newest
    # What a damaged entry was, and whether a source had an offset before, only older entries tell.
    entry, before = planned[newest], planned.get(BatchId(newest - 1))
    is_whole = not any(isinstance(each, Unparsed) for each in found.commits.entries.values())
    return is_end and is_whole and not _is_offset_missing(entry, before)


def _is_offset_missing(*entries: OffsetEntry | Unparsed | None) -> bool:
    if any(isinstance(entry, Unparsed) for entry in entries):
        return True
    known = [
        {each.source: each.text for each in entry.offsets}
        for entry in entries
        if isinstance(entry, OffsetEntry)
    ]
    return any(offsets.keys() != known[0].keys() or None in offsets.values() for offsets in known)
