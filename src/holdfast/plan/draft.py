"""Puts a plan together from what a goal has decided."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass

from holdfast import clock
from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS
from holdfast.plan.plan_file import Impact, Need, Plan
from holdfast.plan.preconditions import (
    FileIs,
    GenerationIs,
    LedgerIs,
    ListingIs,
    Precondition,
    fingerprint,
)
from holdfast.plan.steps import CopyTree, PutFile, RemoveFile, Step, digest_of, row_value
from holdfast.plan.trees import copy_tree, list_files
from holdfast.plan.world import StreamNow
from holdfast.record.documents import encode
from holdfast.record.generations import Generation
from holdfast.storage.location import Location
from holdfast.version import __version__


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What a goal decides for one stream."""

    steps: tuple[Step, ...]
    impact: Impact
    needs: tuple[Need, ...] = ()
    preconditions: tuple[Precondition, ...] = ()
    roots: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What a plan says of itself."""

    goal: str
    summary: str
    undo: str
    afterwards: tuple[str, ...] = ()
    answers: tuple[str, ...] = ()


def new_plan_id() -> str:
    """Return an id that sorts by the time at which it was made."""
    return f"{clock.now():%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def kept_table(plan_id: str, stream: str, number: int) -> str:
    """Return where a sink keeps rows that a plan takes away: a name for each stream and sink."""
    return f"holdfast.kept_{plan_id.replace('-', '_')}_{digest_of(stream)[:8]}_{number}"


def put_together(
    heading: Heading, streams: tuple[StreamNow, ...], parts: tuple[Part, ...], *, plan_id: str
) -> Plan:
    """Return the plan for one or several streams, the first one first."""
    first = streams[0]
    adopted = tuple(each.place for each in streams if not _is_below(each))
    return Plan(
        id=plan_id,
        goal=heading.goal,
        stream=first.stream,
        root=str(first.root),
        made_at=clock.now().isoformat(timespec="seconds"),
        made_by=f"Holdfast {__version__}",
        answers=heading.answers,
        summary=heading.summary,
        impact=tuple(part.impact for part in parts),
        needs=tuple(dict.fromkeys(each for part in parts for each in part.needs)),
        undo=heading.undo,
        afterwards=heading.afterwards,
        roots=tuple(dict.fromkeys((*adopted, *(each for part in parts for each in part.roots)))),
        preconditions=tuple(
            dict.fromkeys(
                each
                for now, part in zip(streams, parts, strict=True)
                for each in (*is_as_seen(now), *part.preconditions)
            )
        ),
        steps=tuple(each for part in parts for each in part.steps),
    )


def is_as_seen(now: StreamNow) -> Iterator[Precondition]:
    """Yield what must not have moved of a stream: its generation, checkpoint and sinks."""
    yield GenerationIs(stream=now.stream, number=now.generation)
    yield _file_is(now, METADATA)
    for directory in (OFFSETS, COMMITS):
        files = now.checkpoint.list(directory).files
        yield ListingIs(
            stream=now.stream, place=now.place, directory=directory, fingerprint=fingerprint(files)
        )
    planned, committed = now.case.newest_planned, now.case.newest_committed
    for directory, newest in ((OFFSETS, planned), (COMMITS, committed)):
        for batch in range(max(newest - 1, 0), newest + 1):
            yield _file_is(now, f"{directory}/{batch}")
    for sink in now.sinks:
        if not sink.unreadable:
            row = None if sink.row is None else row_value(sink.row)
            yield LedgerIs(stream=now.stream, sink=sink.contract, row=row, table=sink.table)


def _file_is(now: StreamNow, path: str) -> FileIs:
    raw = now.checkpoint.read(path)
    digest = None if raw is None else digest_of(raw)
    return FileIs(stream=now.stream, place=now.place, path=path, sha256=digest)


def copy_checkpoint(
    now: StreamNow, target: Location, *, leaves_out: tuple[str, ...], why: str
) -> CopyTree:
    """Return the step that copies the files of a checkpoint, without some."""
    files = list_files(now.checkpoint, leaves_out=leaves_out)
    return copy_tree(now.stream, now.place, str(target), files=files, why=why)


def put_generation(now: StreamNow, opened: Generation, *, why: str) -> PutFile:
    """Return the step that opens a generation of a stream."""
    return PutFile(
        stream=now.stream,
        place=str(now.record.location),
        path=opened.path,
        content=encode(opened).decode(),
        why=why,
    )


def sidecar_of(path: str) -> str:
    """Return where Hadoop keeps the checksums of a file."""
    directory, _, name = path.rpartition("/")
    return f"{directory}/.{name}.crc" if directory else f".{name}.crc"


def remove_file(now: StreamNow, path: str, *, why: str) -> Iterator[Step]:
    """Yield the steps that remove a file of a checkpoint, and Hadoop's checksums of it."""
    for each in (path, sidecar_of(path)):
        raw = now.checkpoint.read(each)
        if raw is not None:
            yield RemoveFile(
                stream=now.stream, place=now.place, path=each, sha256=digest_of(raw), why=why
            )


def _is_below(now: StreamNow) -> bool:
    return now.place.startswith(f"{now.root}/") or now.place == str(now.root)
