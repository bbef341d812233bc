"""Which files make up one version of a store, by the rules Spark loads it with.

From Spark 4.2 `HDFSBackedStateStoreProvider.loadMap` and `RocksDB.load`: the newest whole file at
or below the version, then every file of changes above it. In state format 2 each version's file is
the one whose unique id the commit of its batch names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from holdfast.checkpoint.state.files import StateFile, StateFileKind

_MOST_NAMED = 20


class Chain(msgspec.Struct, frozen=True, kw_only=True):
    """The files that Spark loads for a version of a store."""

    version: int
    base: StateFile | None
    """A snapshot or zip; None when the changes go back to the empty version 0."""
    changes: tuple[StateFile, ...]

    @property
    def files(self) -> tuple[StateFile, ...]:
        """All of them, in the order they are loaded."""
        return (*([] if self.base is None else [self.base]), *self.changes)


class BrokenChain(msgspec.Struct, frozen=True, kw_only=True):
    """A version that cannot be loaded."""

    version: int
    missing: tuple[str, ...]
    """Names of files that would be needed, lowest version first."""


def find_chain(
    files: Sequence[StateFile], version: int, ids: Mapping[int, str] | None = None
) -> Chain | BrokenChain:
    """Return the files that make up a version of a store.

    Args:
        files: Those of the store that can be read. A whole file that cannot is left out: Spark
            passes over it too, and takes an older one.
        version: The state version; batch N loads version N.
        ids: In state format 2, the unique ids of the versions whose commits are still there.
    """
    at = files_by_version(files, ids)
    lowest = min(at, default=version + 1)
    changes: list[StateFile] = []
    for number in range(version, 0, -1):
        found = at.get(number, [])
        base = next((file for file in found if file.kind.is_whole), None)
        if base is not None:
            return Chain(version=version, base=base, changes=tuple(reversed(changes)))
        if not found:
            first = max(1, min(lowest - 1, number), number - _MOST_NAMED)
            missing = [each for each in range(first, number + 1) if each not in at]
            return BrokenChain(version=version, missing=_names(files, missing, ids))
        changes.append(found[0])
    return Chain(version=version, base=None, changes=tuple(reversed(changes)))


def loadable_versions(
    files: Sequence[StateFile], ids: Mapping[int, str] | None = None
) -> frozenset[int]:
    """Return every version that Spark could load, version 0 too: it needs no file."""
    loadable = {0}
    for number, found in sorted(files_by_version(files, ids).items()):
        if number - 1 in loadable or any(file.kind.is_whole for file in found):
            loadable.add(number)
    return frozenset(loadable)


def files_by_version(
    files: Sequence[StateFile], ids: Mapping[int, str] | None
) -> dict[int, list[StateFile]]:
    """Return the files of each version that count, lowest first."""
    at: dict[int, list[StateFile]] = {}
    for file in files:
        if ids is None or ids.get(file.version, file.unique_id) == file.unique_id:
            at.setdefault(file.version, []).append(file)
    return at


def _names(
    files: Sequence[StateFile], versions: list[int], ids: Mapping[int, str] | None
) -> tuple[str, ...]:
    """Return the names that files of these versions would have."""
    kinds = {file.kind for file in files}
    rocks = bool(kinds & {StateFileKind.ZIP, StateFileKind.CHANGELOG})
    kind = StateFileKind.ZIP if rocks else StateFileKind.DELTA
    if StateFileKind.CHANGELOG in kinds:
        kind = StateFileKind.CHANGELOG
    return tuple(
        StateFile(
            version=version,
            kind=kind,
            unique_id=None if ids is None else ids.get(version, "…"),
            size_bytes=0,
        ).name
        for version in versions
    )
