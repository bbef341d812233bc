"""Looks at a Delta table that a stream reads: what it can still give, and for how long.

Read are 64 commits from the needed version on and 16 before it, the newest checksum file and the
one before the needed version, one page of the log's listing, and 32 of the pending data files. That
is at most 160 requests. Checkpoints of Delta (Parquet) are not parsed: what is only there is not
known.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec.structs import replace

from holdfast.checkpoint.text import parse_json_object
from holdfast.errors import ReadError
from holdfast.formats.delta_intervals import parse_interval
from holdfast.formats.delta_log import LOG, commit_path, newest_version
from holdfast.redact import redact_location
from holdfast.sources.delta.commits import (
    ReadCommit,
    compare_schemas,
    parse_source_commit,
)
from holdfast.sources.delta.found import DeltaSource, SourceCommit
from holdfast.sources.delta.kind import DeltaOffset
from holdfast.sources.probe import NotProbed, Question, SourceProbe
from holdfast.storage.read import Reader

MOST_AHEAD, MOST_BEFORE, MOST_FILES = 64, 16, 32
_AT_ONCE = 16
_PAGES = 3
_AFTER_HIDDEN = ".~"
"""Sorts after Hadoop's checksums (`.<name>.crc`) and before every commit."""
_LOG_RETENTION = ("delta.logRetentionDuration", timedelta(days=30))
_FILE_RETENTION = ("delta.deletedFileRetentionDuration", timedelta(days=7))


def ask_table(question: Question) -> SourceProbe:
    """Look at the table that options name."""
    needed = question.needed
    assert isinstance(needed, DeltaOffset)
    table = question.table()
    if isinstance(table, SourceProbe):
        return table
    listed = question.listed if isinstance(question.listed, DeltaOffset) else None
    return probe_delta(question.source, needed, table, now=question.looks.now, listed=listed)


def probe_delta(
    source: str,
    needed: DeltaOffset,
    table: Reader,
    *,
    now: datetime,
    listed: DeltaOffset | None = None,
) -> SourceProbe:
    """Look at what a Delta table can still give.

    Args:
        source: The source's place in the offset entries.
        needed: Where the next batch begins to read.
        table: Reads at the table's location.
        now: The time to count from.
        listed: Where the last batch began, if it is committed: a start lists its versions again,
            and fails without them. None when that is not known.
    """
    display_name = f"the Delta table {redact_location(str(table.location))}"
    try:
        newest = newest_version(table)
        if newest is None:
            found = DeltaSource(
                display_name=display_name, needed_id=needed.table_id, needed_version=needed.version
            )
            return SourceProbe(source=source, display_name=display_name, found=found)
        return _Probe(table, needed, newest=newest, display_name=display_name).look(
            source, now, listed
        )
    except ReadError as error:
        return SourceProbe(
            source=source, display_name=display_name, found=NotProbed(why=error.why.rstrip("."))
        )


class _Probe:
    """One look at one table."""

    def __init__(
        self, table: Reader, needed: DeltaOffset, *, newest: int, display_name: str
    ) -> None:
        self._table, self._needed, self._newest, self._shown = table, needed, newest, display_name

    def look(self, source: str, now: datetime, listed: DeltaOffset | None) -> SourceProbe:
        """Read the commits around the needed version, and say what they tell."""
        first = max(self._needed.version - MOST_BEFORE, 0)
        last = min(self._newest, self._needed.version + MOST_AHEAD - 1)
        read = self._read(range(first, last + 1))
        commits = [each for each in read.values() if each is not None]
        described = self._described(commits)
        pending = [each for each in commits if each.counted.version >= self._needed.version]
        found = DeltaSource(
            display_name=self._shown,
            needed_id=self._needed.table_id,
            needed_version=self._needed.version,
            is_in_snapshot=self._needed.initial_snapshot,
            table_id=described.get("id"),
            earliest=self._earliest(),
            newest=self._newest,
            commits=self._with_schemas(commits),
            missing=tuple(
                version
                for version, each in read.items()
                if each is None and version >= self._needed.version
            ),
            damaged=tuple(each.counted.version for each in commits if each.commit.is_cut),
            unread=max(self._newest - last, 0),
        )
        found = self._with_files(found, pending)
        first_listed = listed.version if listed is not None else self._needed.version
        kept = [*self._before(first_listed), *pending]
        left, why = _countdown(found, kept, settings=described.get("configuration"), now=now)
        return SourceProbe(
            source=source, display_name=self._shown, found=found, lossless_for=left, lossless_by=why
        )

    def _read(self, versions: Sequence[int]) -> dict[int, ReadCommit | None]:
        def read(version: int) -> ReadCommit | None:
            raw = self._table.read(commit_path(version))
            return None if raw is None else parse_source_commit(version, raw)

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return dict(zip(versions, pool.map(read, versions), strict=True))

    def _before(self, oldest: int) -> list[ReadCommit]:
        """Return the commit that a start begins to list with, if the needed one is a later one."""
        versions = [oldest] if oldest < self._needed.version else []
        return [each for each in self._read(versions).values() if each is not None]

    def _described(self, commits: list[ReadCommit]) -> Mapping[str, Any]:
        """Return the newest metadata of the table that can be read: id and properties."""
        newest = self._checksum(self._newest)
        if isinstance(newest.get("id"), str):
            return newest
        setting = [each.commit for each in commits if each.commit.table_id is not None]
        if not setting:
            setting = [each.commit for each in self._read([0]).values() if each is not None]
        if not setting or setting[-1].table_id is None:
            return {}
        return {"id": setting[-1].table_id, "configuration": setting[-1].settings}

    def _checksum(self, version: int) -> Mapping[str, Any]:
        raw = self._table.read(f"{LOG}/{version:020d}.crc") if version >= 0 else None
        found = parse_json_object((raw or b"").decode("utf-8", "replace")) or {}
        metadata = found.get("metadata")
        return metadata if isinstance(metadata, dict) else {}

    def _earliest(self) -> int | None:
        """Return the oldest version whose commit is there: the log's names sort by version."""
        after = _AFTER_HIDDEN
        for _ in range(_PAGES):
            page = self._table.list_after(LOG, after)
            names = sorted(info.path.rpartition("/")[2] for info in page.files)
            for name in names:
                stem = name.removesuffix(".json")
                if stem != name and stem.isascii() and stem.isdigit():
                    return int(stem)
            if page.next_after is None:
                break
            after = page.next_after
        return None

    def _with_schemas(self, commits: list[ReadCommit]) -> tuple[SourceCommit, ...]:
        """Return the commits, each with what it does to the columns."""
        first = self._checksum(self._needed.version - 1).get("schemaString")
        before = first if isinstance(first, str) else None
        found = []
        for each in commits:
            schema, is_pending = each.commit.schema, each.counted.version >= self._needed.version
            change = compare_schemas(before, schema) if is_pending else compare_schemas(None, None)
            found.append(replace(each.counted, schema=change))
            if schema is not None and (is_pending or first is None):
                before = schema
        return tuple(found)

    def _with_files(self, found: DeltaSource, pending: list[ReadCommit]) -> DeltaSource:
        """Look whether data files of the pending versions are there: a sample of them."""
        files = [(each.counted.version, path) for each in pending for path in each.added]
        step = max(len(files) // MOST_FILES, 1)
        sample = files[::step][:MOST_FILES]
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            there = pool.map(lambda each: self._table.stat(each[1]), sample)
            gone = [version for (version, _), info in zip(sample, there, strict=True) if not info]
        return dataclasses.replace(
            found,
            files=len(files),
            files_checked=len(sample),
            files_gone=len(gone),
            gone_version=min(gone, default=None),
        )


def _countdown(
    found: DeltaSource, kept: list[ReadCommit], *, settings: object, now: datetime
) -> tuple[timedelta | None, str]:
    """Say for how long a resume still finds everything, and what that follows from."""
    if not found.is_same_table or found.damaged or found.unread:
        return None, ""
    if found.missing or found.files_gone:
        return timedelta(0), "commits or data files that the stream needs are gone"
    known = settings if isinstance(settings, Mapping) else None
    log, files = (_retention(known, *each) for each in (_LOG_RETENTION, _FILE_RETENTION))
    if log is None or files is None:
        return None, ""
    if not kept:
        return log, f"the stream has read everything, and the log is kept for {log.days} days"
    unread = [each for each in kept if each.counted.version >= found.needed_version]
    added = {path for each in unread for path in each.added}
    ends = [_after(kept[0], log)]
    ends += [_after(each, files) for each in kept if added.intersection(each.removed)]
    by = f"the log is kept for {log.days} days, removed data files for {files.days} days"
    last = min((each for each in ends if each is not None), default=None)
    return (None, "") if last is None else (max(last - now, timedelta(0)), by)


def _retention(
    settings: Mapping[str, object] | None, name: str, default: timedelta
) -> timedelta | None:
    if settings is None:
        return None
    return parse_interval(settings[name]) if name in settings else default


def _after(commit: ReadCommit, kept: timedelta) -> datetime | None:
    written = commit.counted.written_ms
    if written is None:
        return None
    try:
        return datetime.fromtimestamp(0, tz=UTC) + timedelta(milliseconds=written) + kept
    except OverflowError:
        return None
