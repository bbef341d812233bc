"""Puts a plan together from what a goal has decided: sinks, needs, outputs, steps, preconditions.

A goal fills a `Draft` for each stream. What every goal repeats is here: a file that is written, a
generation that is opened, a sink that is settled in the step that fences it.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping
from dataclasses import replace

import msgspec

from holdfast import clock
from holdfast.checkpoint.layout import COMMITS, METADATA, OFFSETS
from holdfast.ids import BatchId, QueryId
from holdfast.ledger.coverage import NOTHING_READ, Coverage
from holdfast.ledger.output import COPY, KeepOutput, Output
from holdfast.ledger.row import NO_BATCH, Binding, LedgerRow
from holdfast.plan.plan_file import Change, Impact, Need, Plan
from holdfast.plan.preconditions import (
    FileIs,
    GenerationIs,
    LedgerIs,
    ListingIs,
    Precondition,
    fingerprint,
)
from holdfast.plan.steps import (
    CopyTree,
    PutFile,
    SettleSink,
    Step,
    digest_of,
    row_value,
)
from holdfast.plan.trees import copy_tree, list_files
from holdfast.plan.world import SinkNow, StreamNow
from holdfast.record.documents import encode
from holdfast.record.generations import Generation
from holdfast.record.layout import checkpoint_location
from holdfast.storage.location import Location
from holdfast.version import __version__


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """What a goal decides for one stream."""

    steps: tuple[Step, ...]
    impact: Impact
    needs: tuple[Need, ...] = ()
    preconditions: tuple[Precondition, ...] = ()
    roots: tuple[str, ...] = ()


class Draft(msgspec.Struct, kw_only=True):
    """One stream's part of a plan, while a goal writes it."""

    now: StreamNow
    plan_id: str
    steps: list[Step] = msgspec.field(default_factory=list)
    outputs: list[str] = msgspec.field(default_factory=list)
    """What becomes of each sink."""
    needs: list[Need] = msgspec.field(default_factory=list)

    def aside(self, number: int) -> str:
        """Return where a sink keeps rows that are taken away; sinks are numbered from 1."""
        return kept_table(self.plan_id, self.now.stream, number)

    def put(self, place: Location, files: Mapping[str, str], *, why: str) -> None:
        """Add the steps that create files in a place that does not have them."""
        stream = self.now.stream
        self.steps += [
            PutFile(stream=stream, place=str(place), path=path, content=content, why=why)
            for path, content in files.items()
        ]

    def open_generation(
        self, row: LedgerRow, *, made: str, why: str, began: str = "", kept: Mapping[str, str] = {}
    ) -> None:
        """Add the step that opens the generation which a ledger row is of.

        Args:
            row: As the sinks get it.
            made: What the generation comes from: a reset, a rewind.
            why: Why the step is there.
            began: Where the stream began to read, as canonical JSON.
            kept: Up to where each sink that keeps its rows holds the stream.
        """
        opened = Generation(
            number=row.generation,
            checkpoint=row.binding.checkpoint,
            query_id=row.binding.query_id,
            first_batch=row.last_batch + 1,
            why=made,
            opened_at=clock.now().isoformat(timespec="seconds"),
            began=began,
            kept=dict(kept),
        )
        self.put(self.now.record.location, {opened.path: encode(opened).decode()}, why=why)

    def settle(self, sink: SinkNow, row: LedgerRow, output: Output, *, why: str) -> None:
        """Add the step that brings a sink and its ledger row to a named state.

        Args:
            sink: As it is now.
            row: That it gets; the name of the sink is put into it.
            output: What becomes of its rows.
            why: Why the step is there.
        """
        self.steps.append(settle_sink(self.now, sink, row, output=output, why=why))

    def part(
        self,
        position: str,
        *,
        changes: tuple[Change, ...] = (),
        preconditions: tuple[Precondition, ...] = (),
        roots: tuple[str, ...] = (),
    ) -> Part:
        """Return what was decided for the stream.

        Args:
            position: Where it goes on.
            changes: What becomes of its data.
            preconditions: What must still hold, beside the stream being as it was seen.
            roots: Other places that may be written to.
        """
        return Part(
            steps=tuple(self.steps),
            impact=Impact(
                stream=self.now.stream,
                position=position,
                outputs=tuple(self.outputs),
                changes=changes,
            ),
            needs=tuple(self.needs),
            preconditions=preconditions,
            roots=roots,
        )


class Heading(msgspec.Struct, frozen=True, kw_only=True):
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
    return f"{COPY}{plan_id.replace('-', '_')}_{digest_of(stream)[:8]}_{number}"


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


def next_row(
    now: StreamNow, query_id: str, *, batch: int = NO_BATCH, covered: Coverage | None = None
) -> LedgerRow:
    """Return what the ledger rows of a stream say in its next generation; without a sink's name.

    Args:
        now: The stream, as it is now.
        query_id: Of the new checkpoint.
        batch: The last one that the sinks hold; none, if it is not given.
        covered: What that batch covers.
    """
    number = now.generation + 1
    place = str(checkpoint_location(now.root, now.stream, number))
    return LedgerRow(
        stream=now.stream,
        sink="",
        generation=number,
        epoch=0,
        nonce="",
        binding=Binding(query_id=QueryId(query_id), checkpoint=place),
        last_batch=BatchId(batch),
        digest=None if covered is None else covered.digest,
        end_offsets=NOTHING_READ if covered is None else covered.end_offsets,
    )


def settle_sink(
    now: StreamNow, sink: SinkNow, row: LedgerRow, *, output: Output | None = None, why: str
) -> SettleSink:
    """Return the step that brings a sink and its ledger row to a named state."""
    label = sink.contract.label if sink.row is None else sink.row.sink
    return SettleSink(
        stream=now.stream,
        sink=sink.contract,
        old=None if sink.row is None else row_value(sink.row),
        new=row_value(replace(row, sink=label)),
        output=output or KeepOutput(),
        why=why,
    )


def _is_below(now: StreamNow) -> bool:
    return now.place.startswith(f"{now.root}/") or now.place == str(now.root)
