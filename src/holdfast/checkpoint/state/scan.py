"""Reads a store through all versions that are kept: how many rows each has, and rows asked for.

Versions are followed from the oldest that can be loaded to the newest: a file of changes is applied
where the version before was loaded, otherwise a whole file is loaded. Of RocksDB's snapshots only
one is loaded, the newest or the one that changelogs begin with: of the others the zip says how many
rows they have. Memory holds the keys of one store; values are read and, but for a few, forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from holdfast.checkpoint.binary import BrokenBytesError
from holdfast.checkpoint.state.chain import BrokenChain, files_by_version, find_chain
from holdfast.checkpoint.state.files import StateFile, StateFileKind
from holdfast.checkpoint.state.live_rows import LiveRow, LiveRows, Question
from holdfast.checkpoint.state.read import Store
from holdfast.checkpoint.state.records import Put, RangeRemoved
from holdfast.checkpoint.state.rocksdb import RocksSnapshot
from holdfast.checkpoint.state.rows import NotCounted, changes_of, read_rocks_snapshot
from holdfast.checkpoint.state.sst import Entry, merge_entries, read_sst
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.errors import MissingExtraError, ReadError
from holdfast.storage.read import Reader

Problem = NotCounted | Unparsed
_FAMILIES = "changelogs of column families are not followed"


class VersionRows(msgspec.Struct, frozen=True, kw_only=True):
    """One version of a store."""

    version: int
    rows: int | None
    """None when that is not known."""
    size_bytes: int
    """Of the files of this version; for a RocksDB snapshot with the data files that it needs."""


class StoreScan(msgspec.Struct, frozen=True, kw_only=True):
    """What is in a store."""

    versions: tuple[VersionRows, ...]
    """Those that are kept, oldest first."""
    rows: int | Problem
    """At the version that was asked for."""
    is_searched: bool
    """Whether every row of that version was looked at; False when only counts were needed."""
    matching: int
    kept: tuple[LiveRow, ...]
    damaged: tuple[Unparsed, ...]


class ScannedStore(msgspec.Struct, frozen=True, kw_only=True):
    """A store that is to be read."""

    store: Store
    ids: Mapping[int, str] | None = None
    """In state format 2, which file counts for each version."""
    has_families: bool = False
    """Whether it has several column families, of which only counts are read."""


def scan_store(
    reader: Reader, chosen: ScannedStore, version: int, *, question: Question
) -> StoreScan:
    """Read a store up to a version.

    Args:
        reader: Of the checkpoint.
        chosen: The store.
        version: The last state version to look at.
        question: Which rows are wanted.
    """
    at = files_by_version(chosen.store.files, chosen.ids)
    scan = _Scan(reader, chosen, question)
    for number in sorted(each for each in at if 0 < each <= version):
        is_last = number == version
        is_followed = any(not each.kind.is_whole for each in at.get(number + 1, ()))
        is_needed = question.needs_rows if is_last else is_followed
        scan.read_version(number, at[number], is_needed=is_needed)
    scan.look_back()
    return scan.finish(version)


class _Scan:
    """Where a scan is."""

    def __init__(self, reader: Reader, chosen: ScannedStore, question: Question) -> None:
        self._reader = reader
        self._chosen = chosen
        self._store = chosen.store
        self._question = question
        self._live = LiveRows(question)
        self._loaded: int | None = 0
        self._versions: list[VersionRows] = []
        self._passed: list[tuple[int, RocksSnapshot]] = []
        """Snapshots of RocksDB, each with its version."""
        self._first = 0
        """The version that was loaded from a snapshot of RocksDB; 0 when none was."""
        self._damaged: list[Unparsed] = []
        self._why: Problem | None = None
        """What stopped the newest version from being read."""

    def read_version(self, number: int, files: Sequence[StateFile], *, is_needed: bool) -> None:
        """Read the files of the next version."""
        self._why = None
        size = sum(each.size_bytes for each in files)
        rows: int | None = None
        before, self._loaded = self._loaded, None
        for file in sorted(files, key=lambda each: each.kind.is_whole):
            if file.kind.is_whole or before == number - 1:
                found = self._read_file(number, file, is_needed=is_needed)
                if self._passed and self._passed[-1][0] == number:
                    size += sum(each.size_bytes for each in self._passed[-1][1].data_files)
                if isinstance(found, int):
                    rows = found
                    break
                self._why = found
                if isinstance(found, Unparsed):
                    self._damaged.append(found)
        self._versions.append(VersionRows(version=number, rows=rows, size_bytes=size))

    def _read_file(self, number: int, file: StateFile, *, is_needed: bool) -> int | Problem:
        path = f"{self._store.directory}/{file.name}"
        if file.kind is StateFileKind.ZIP:
            return self._read_zip(number, path, is_needed=is_needed)
        if self._chosen.has_families:
            return NotCounted(why=_FAMILIES)
        if file.kind.is_whole:
            self._live.begin_whole(number)
        for change in changes_of(self._reader, path, file.kind, values=True):
            if isinstance(change, Put):
                self._live.put(change.key, change.value, number)
            elif isinstance(change, NotCounted | Unparsed):
                return change
            elif isinstance(change, RangeRemoved):
                return NotCounted(why="ranges of keys were removed, which is not followed here")
            else:
                self._live.remove(change.key)
        self._loaded = number
        return len(self._live)

    def _read_zip(self, number: int, path: str, *, is_needed: bool) -> int | Problem:
        snapshot = read_rocks_snapshot(self._reader, path)
        if isinstance(snapshot, Unparsed):
            return snapshot
        self._passed.append((number, snapshot))
        is_counted = snapshot.rows is not None
        if self._chosen.has_families or (is_counted and not is_needed):
            return NotCounted(why=_FAMILIES) if snapshot.rows is None else snapshot.rows
        stopped = self._load(number, path, snapshot)
        if stopped is not None:
            return stopped
        if is_counted and len(self._live) != snapshot.rows:
            found = f"its data files have {len(self._live):,} rows"
            return Unparsed(path=path, reason=f"{found}, and it says {snapshot.rows:,}")
        self._loaded = self._first = number
        return len(self._live)

    def _load(self, number: int, path: str, snapshot: RocksSnapshot) -> Problem | None:
        """Load the rows of a snapshot; return what stopped that."""
        self._live.begin_whole(number)
        try:
            for entry in merge_entries([*self._open(snapshot)]):
                self._live.put(entry.key, entry.whole_value, number)
        except BrokenBytesError as error:
            return Unparsed(path=path, reason=f"its data: {error}")
        except ReadError as error:
            why = f"its data could not be read: {error.why}"
            return Unparsed(path=path, reason=why, unread=True)
        except MissingExtraError as error:
            return NotCounted(why=f"{error.why} {error.how}")
        return None

    def _open(self, snapshot: RocksSnapshot) -> list[Iterator[Entry]]:
        """Open the data files of a snapshot that are there as it says."""
        files = []
        for each in snapshot.data_files:
            if self._store.data_files.get(each.name) != each.size_bytes:
                raise BrokenBytesError(f"{each.name} is not there in its right size")
            if each.name.startswith("SSTs/"):
                path = f"{self._store.directory}/{each.name}"
                files.append(read_sst(self._reader, path, each.size_bytes))
        return files

    def look_back(self) -> None:
        """Find out since when the rows asked for have been there, in snapshots only counted."""
        if self._loaded is None or self._question.wanted is None:
            return
        there: dict[str, dict[bytes, Entry]] = {}
        for number, snapshot in reversed(self._passed):
            kept = self._live.kept.values()
            rows = [each for each in kept if each.is_older and each.since == number + 1]
            if not rows or number >= self._first:
                continue
            try:
                found = self._find_rows(snapshot, there)
            except (BrokenBytesError, ReadError, MissingExtraError):
                return
            for row in rows:
                is_there = row.key in found
                row.is_older = is_there and number > 1
                row.since = number if is_there else row.since

    def _find_rows(
        self, snapshot: RocksSnapshot, there: dict[str, dict[bytes, Entry]]
    ) -> set[bytes]:
        """Return which of the rows asked for are in a snapshot; each data file is read once."""
        newest: dict[bytes, Entry] = {}
        names = [each.name for each in snapshot.data_files if each.name.startswith("SSTs/")]
        for name, entries in zip(names, self._open(snapshot), strict=True):
            if name not in there:
                there[name] = {}
                for each in entries:
                    if each.key in self._live.kept:
                        there[name].setdefault(each.key, each)
            for key, entry in there[name].items():
                newest[key] = min(newest.get(key, entry), entry, key=lambda each: each.age)
        return {key for key, entry in newest.items() if entry.is_there}

    def finish(self, version: int) -> StoreScan:
        """Return what was found."""
        is_searched = self._loaded == version
        rows: int | Problem
        last = self._versions[-1] if self._versions else None
        if is_searched:
            rows = len(self._live)
        elif last is not None and last.version == version and last.rows is not None:
            rows = last.rows
        else:
            rows = self._why or self._missing(version)
        kept = [*self._live.kept.values()][: self._question.most] if is_searched else []
        return StoreScan(
            versions=tuple(self._versions),
            rows=rows,
            is_searched=is_searched,
            matching=self._live.matching if is_searched else 0,
            kept=tuple(kept),
            damaged=tuple(self._damaged),
        )

    def _missing(self, version: int) -> NotCounted:
        chain = find_chain(self._store.files, version, self._chosen.ids)
        if self._chosen.has_families and not isinstance(chain, BrokenChain):
            return NotCounted(why=_FAMILIES)
        if isinstance(chain, BrokenChain) and chain.missing:
            return NotCounted(why=f"{self._store.directory}/{chain.missing[-1]} is missing")
        return NotCounted(why=f"version {version} cannot be loaded from {self._store.directory}")
