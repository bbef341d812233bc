"""Directories that a plan copies as they are, and what tells them apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from hashlib import sha256

import msgspec

from holdfast.plan.steps import CopyTree, FillTree, HoldTree, RemoveTree, Step, digest_of
from holdfast.storage.half_made import is_half_made
from holdfast.storage.in_order import walk_in_order
from holdfast.storage.read import Reader

HELD = "A plan of Holdfast holds this directory. `holdfast undo` or --continue ends that.\n"
"""In the marker of a directory that is held. Spark takes it for damaged metadata."""


class Files(msgspec.Struct, frozen=True, kw_only=True):
    """The files below a directory, without those that are left out."""

    count: int
    size_bytes: int
    fingerprint: str
    """Of their paths and sizes; the same for a directory and its copy."""
    leaves_out: tuple[str, ...] = ()


def list_files(reader: Reader, *, leaves_out: Collection[str] = ()) -> Files:
    """Return the files below a directory, in constant memory."""
    digest, count, size_bytes = sha256(), 0, 0
    hidden = frozenset(leaves_out)
    for info in walk_in_order(reader):
        if info.path not in hidden:
            digest.update(f"{info.path} {info.size_bytes}\n".encode())
            count += 1
            size_bytes += info.size_bytes
    return Files(
        count=count,
        size_bytes=size_bytes,
        fingerprint=digest.hexdigest(),
        leaves_out=tuple(leaves_out),
    )


def copy_tree(stream: str, source: str, target: str, *, files: Files, why: str) -> CopyTree:
    """Return the step that copies a directory.

    Args:
        stream: Whose it is.
        source: The directory.
        target: Where the copy goes.
        files: What `list_files` says of the directory.
        why: Why the step is there.
    """
    return CopyTree(
        stream=stream,
        source=source,
        target=target,
        fingerprint=files.fingerprint,
        files=files.count,
        size_bytes=files.size_bytes,
        leaves_out=files.leaves_out,
        why=why,
    )


def hold_tree(stream: str, there: Reader, aside: str, *, marker: str, why: str) -> HoldTree:
    """Return the step that copies a directory aside, and holds it.

    Args:
        stream: Whose it is.
        there: The directory.
        aside: Where the copy goes.
        marker: The file that keeps Spark from starting; empty for none.
        why: Why the step is there.
    """
    found, marked = list_files(there), there.read(marker) if marker else None
    return HoldTree(
        stream=stream,
        place=str(there.location),
        aside=aside,
        fingerprint=found.fingerprint,
        files=found.count,
        size_bytes=found.size_bytes,
        marker=marker,
        marked=None if marked is None else digest_of(marked),
        why=why,
    )


def in_phases(steps: Iterable[Step]) -> tuple[Step, ...]:
    """Return steps so that every checkpoint is held before anything else, and filled last.

    A program that starts meanwhile then finds no checkpoint that it could go on from. A copy is
    removed after that: it is compared with the checkpoint that it was made of.
    """
    found = tuple(steps)
    is_held = any(isinstance(each, HoldTree | FillTree) and each.marker for each in found)
    return tuple(sorted(found, key=_phase)) if is_held else found


def _phase(step: Step) -> int:
    if isinstance(step, HoldTree) and step.marker:
        return 0
    if isinstance(step, RemoveTree):
        return 3
    return 2 if isinstance(step, FillTree) and step.marker else 1


def is_held(there: Reader, marker: str) -> bool:
    """Return whether a plan holds a directory."""
    return bool(marker) and there.read(marker) == HELD.encode()


def find_foreign(target: Reader, source: Reader, *, leaves_out: Collection[str] = ()) -> str | None:
    """Return the first file of a copy that the source does not have so; None without one.

    A copy that was cut short has none: what is missing of it does not count, and neither do files
    that are left out.
    """
    wanted = iter(walk_in_order(source))
    one = next(wanted, None)
    for info in walk_in_order(target):
        if info.path in leaves_out or is_half_made(info.path):
            continue
        while one is not None and one.path < info.path:
            one = next(wanted, None)
        if one is None or (one.path, one.size_bytes) != (info.path, info.size_bytes):
            return info.path
    return None
