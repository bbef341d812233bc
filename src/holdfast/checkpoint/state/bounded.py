"""Reads state for a start: only where a few requests show all of it.

A start must not take longer the more state there is. Where state has many directories or one of
them has more files than a page, only the description of each operator is read, and why.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor

import msgspec

from holdfast.checkpoint.layout import STATE, parse_name
from holdfast.checkpoint.state.operators import OperatorMetadata
from holdfast.checkpoint.state.read import (
    DEFAULT_STORE,
    DESCRIPTIONS,
    LISTERS,
    Operator,
    numbers,
    read_metadata,
    read_operator,
    read_schemas,
)
from holdfast.checkpoint.state.schema import StateSchema
from holdfast.checkpoint.unparsed import Unparsed
from holdfast.ids import BatchId
from holdfast.storage.read import PAGE_ENTRIES, FileInfo, Reader, WalkPage, answers_at_once

MOST_STORES = 8
"""Directories of stores that a start looks at, of all operators together."""
MOST_DESCRIPTIONS = 64
"""Files that describe an operator which a start reads: one for each of its past starts."""
_STORE_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
MOST_VERSIONS = 32
"""Commit entries that a start reads to learn which files of state format 2 count."""


class BoundedState(msgspec.Struct, frozen=True, kw_only=True):
    """The operators, and why their files were not looked at; None when they were."""

    operators: tuple[Operator, ...]
    unread: str | None

    @property
    def first_commit(self) -> BatchId | None:
        """The oldest batch whose commit entry says which files count; None where names do."""
        versions = _versions_by_id(self.operators)
        return BatchId(max(min(versions) - 1, 0)) if versions else None


class _Pages(msgspec.Struct, frozen=True):
    """What pages have shown."""

    pages: Mapping[str, WalkPage]

    def walk(self, directory: str = "") -> tuple[FileInfo, ...]:
        return self.pages[directory].files


def read_state_bounded(
    reader: Reader, names: Collection[str], *, partitions: int | None
) -> BoundedState:
    """Read what lies below `state/`, as far as that is bounded.

    Args:
        reader: Of the checkpoint.
        names: Of the directories in `state/`.
        partitions: How many each operator has; None when nothing says.

    Raises:
        ReadError: A directory cannot be listed.
    """
    operators = numbers(names)
    found = _read_small(reader, operators, (partitions or 0) * len(operators))
    if not isinstance(found, str):
        return BoundedState(operators=found, unread=None)
    described = tuple(_describe_operator(reader, number) for number in operators)
    return BoundedState(operators=described, unread=found)


def _read_small(
    reader: Reader, operators: list[int], partitions: int
) -> tuple[Operator, ...] | str:
    """Read the operators; return why not when that would not be bounded."""
    if partitions > MOST_STORES:
        return _too_many(partitions, "partitions")
    inside = {each: reader.list(f"{STATE}/{each}").directories for each in operators}
    count = sum(len(numbers(found)) for found in inside.values())
    if count > MOST_STORES:
        return _too_many(count, "partitions")
    paths = [
        f"{STATE}/{each}/{name}"
        for each, found in inside.items()
        for name in found
        if name in DESCRIPTIONS or name in map(str, numbers(found))
    ]
    if answers_at_once(reader):
        pages = {path: reader.walk_page(path) for path in paths}
    else:
        with ThreadPoolExecutor(LISTERS) as pool:
            pages = dict(zip(paths, pool.map(reader.walk_page, paths), strict=True))
    if (why := _why_unread(pages)) is not None:
        return why
    read = tuple(
        read_operator(reader, each, names=inside[each], listed=_Pages(pages)) for each in operators
    )
    return _why_too_many(read) or read


def _why_too_many(operators: tuple[Operator, ...]) -> str | None:
    stores = sum(len(each.stores) for each in operators)
    if stores > MOST_STORES:
        return _too_many(stores, "stores")
    versions = _versions_by_id(operators)
    if len(versions) > MOST_VERSIONS:
        why = f"commit entries of {len(versions):,} batches say which of its files count"
        return f"{why}, and a start reads no more than {MOST_VERSIONS}"
    return None


def _versions_by_id(operators: tuple[Operator, ...]) -> set[int]:
    """Return the versions whose files have an id in their names (state format 2)."""
    return {
        file.version
        for operator in operators
        for store in operator.stores
        for file in store.files
        if file.unique_id is not None
    }


def _too_many(count: int, what: str) -> str:
    return f"it has {count:,} {what}, and a start looks at no more than {MOST_STORES}"


def _why_unread(pages: Mapping[str, WalkPage]) -> str | None:
    for path, page in pages.items():
        if not page.is_last:
            return f"{path} has {PAGE_ENTRIES:,} files or more"
        if path.endswith(DESCRIPTIONS) and len(page.files) > MOST_DESCRIPTIONS:
            return f"{path} has {len(page.files):,} files, more than {MOST_DESCRIPTIONS}"
    return None


def _describe_operator(reader: Reader, number: int) -> Operator:
    home = f"{STATE}/{number}"
    metadata = tuple(read_metadata(reader, home, [f"{home}/_metadata/metadata"]))
    if not metadata:
        metadata = tuple(_newest_metadata(reader, home))
    return Operator(
        operator_id=number,
        metadata=metadata,
        schemas=_schemas_of(reader, home, metadata),
        stores=(),
        leftovers=(),
        lone_sidecars=(),
        foreign=(),
    )


def _schemas_of(
    reader: Reader, home: str, metadata: tuple[OperatorMetadata | Unparsed, ...]
) -> tuple[StateSchema | Unparsed, ...]:
    """Read the schemas of an operator that writes them beside its first partition."""
    newest = metadata[-1] if metadata else None
    if not isinstance(newest, OperatorMetadata):
        return ()
    stores = newest.stores[:MOST_STORES]
    names = [each.name for each in stores if _STORE_NAME.fullmatch(each.name)]
    homes = [f"{home}/0" if name == DEFAULT_STORE else f"{home}/0/{name}" for name in names]
    return tuple(read_schemas(reader, [f"{each}/_metadata/schema" for each in homes]))


def _newest_metadata(reader: Reader, home: str) -> Iterator[OperatorMetadata | Unparsed]:
    """Yield the newest metadata of an operator that writes it anew at every start."""
    page = reader.walk_page(f"{home}/_metadata/v2")
    if not page.is_last:
        reason = f"it was not read: there are {PAGE_ENTRIES:,} or more of them"
        yield Unparsed(path=f"{home}/_metadata/v2", reason=reason, unread=True)
        return
    numbered = [
        (batch, info.path)
        for info in page.files
        if (batch := parse_name(info.path).batch_id) is not None
    ]
    yield from read_metadata(reader, home, [path for _, path in sorted(numbered)[-1:]])
