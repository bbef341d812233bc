"""What a sink must hold after resets, rewinds, moves and backfills: which ranges are read again."""

from __future__ import annotations

from typing import Any, cast

import pytest

from holdfast.ids import BatchId, QueryId
from holdfast.ledger.row import Binding, LedgerRow
from holdfast.record.backfills import Backfill
from holdfast.record.documents import create
from holdfast.record.generations import OPENED, RESET, REWOUND, Generation, open_generation
from holdfast.record.layout import BACKFILLS
from holdfast.sinks.contents import SinkContents
from holdfast.sources.delta.ranges import DeltaRange
from holdfast.sources.files.ranges import FileRange
from holdfast.storage.memory import MemoryStorage
from holdfast.streams import covered
from holdfast.streams.batch_form import BatchForm, NoBatchForm
from holdfast.streams.covered import Coverages
from holdfast.streams.declared import Declared
from holdfast.streams.place import Place
from tests.stand_ins import stand_in

QUERY = "00000000-0000-4000-8000-00000000000"


class Rows:
    """Stands for a DataFrame."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def union(self, other: Rows) -> Rows:
        return Rows(*self.parts, *other.parts)


def version(number: int) -> str:
    offset = f'"reservoirId":"a","reservoirVersion":{number}'
    return f'{{"0":{{"sourceVersion":1,{offset},"index":-1,"isStartingVersion":false}}}}'


def files(number: int) -> str:
    return f'{{"0":{{"logOffset":{number}}}}}'


class World:
    """The record and the checkpoints of a stream, in memory."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.record = MemoryStorage()
        self.checkpoints: dict[str, MemoryStorage] = {}
        self.number = 0
        self.backfilled: dict[str, str] = {}

        def form(_: Any, __: Any, ranges: Any) -> BatchForm:
            return BatchForm(df=stand_in(Rows(ranges)), doubts=())

        def reader(_: Any, location: Any) -> MemoryStorage:
            return self.checkpoints[location.name]

        monkeypatch.setattr(covered, "batch_form", form)
        monkeypatch.setattr(covered, "reader_of", reader)
        monkeypatch.setattr(covered, "read_sources", lambda *_: {})

    def open(self, why: str, *, logs: dict[str, bytes] | None = None, **more: Any) -> None:
        self.number += 1
        name = f"c{self.number}"
        self.checkpoints[name] = MemoryStorage(logs or {})
        opened = Generation(
            number=self.number,
            checkpoint=f"file:///srv/{name}",
            query_id=f"{QUERY}{self.number}",
            first_batch=0,
            why=why,
            opened_at="2026-01-01T00:00:00",
            **more,
        )
        assert open_generation(self.record, opened)
        self.generation = opened

    def backfill(self, name: str, start: str, end: str) -> None:
        kept = Backfill(
            stream="s",
            generation=self.number,
            start=start,
            end=end,
            chunks=1,
            sinks=("t",),
            began_at="2026-01-01T00:00:00",
        )
        there = MemoryStorage()
        create(there, kept)
        raw = there.read(kept.path)
        assert raw is not None
        self.record.put(f"{BACKFILLS}/{name}/{kept.path}", raw)
        self.backfilled[name] = end

    def row(self, stream: str, end: str) -> LedgerRow:
        return LedgerRow(
            stream=stream,
            sink="t",
            generation=self.number,
            epoch=1,
            nonce="",
            binding=Binding(query_id=QueryId(f"{QUERY}{self.number}"), checkpoint=""),
            last_batch=BatchId(0),
            digest=None,
            end_offsets=end,
        )

    def expected(self, end: str) -> Any:
        """Return the ranges that are read again when the ledger row ends there."""
        place = Place(
            stream="s",
            record=self.record,
            generation=self.generation,
            checkpoint=self.checkpoints[f"c{self.number}"],
            is_written_down=True,
        )
        declared = Declared(name="s", build=lambda _: stand_in(None), sinks=(), options={})
        coverages = Coverages(spark=cast("Any", None), declared=declared, place=place)
        ends = self.backfilled
        held = SinkContents(
            row=self.row("s", end),
            rows=stand_in(None),
            newest=lambda given: given,
            comparable=lambda given: given,
            row_of=lambda name: self.row(name, ends[name]) if name in ends else None,
        )
        found = coverages.of(held)
        assert not isinstance(found, NoBatchForm), found.reason
        assert found.form.df.parts == found.ranges
        return found.ranges


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch)


def delta(after: int, through: int) -> dict[str, DeltaRange]:
    return {"0": DeltaRange(table_id="a", after=after, through=through)}


def test_a_generation_alone_and_one_that_began_later(world: World) -> None:
    world.open(OPENED)
    assert world.expected(version(5)) == (delta(-1, 4),)
    world.open(RESET, began=version(5))
    assert world.expected(version(9)) == (delta(4, 8),)
    world.open(REWOUND)  # of a version that did not record where it began
    assert world.expected(version(7)) == (delta(4, 6),)


def test_a_reset_that_kept_rows(world: World) -> None:
    world.open(OPENED)
    world.open(RESET, began=version(7), kept={"t": version(5)})
    # Versions 5 and 6 were skipped: nobody expects them.
    assert world.expected(version(9)) == (delta(-1, 4), delta(6, 8))
    world.open(REWOUND, began=version(7))
    assert world.expected(version(8)) == (delta(-1, 4), delta(6, 7))
    world.open(RESET, began=version(8))
    assert world.expected(version(9)) == (delta(7, 8),)


def test_backfills_count_while_their_rows_are_there(world: World) -> None:
    world.open(OPENED)
    world.open(RESET, began=version(5))
    world.backfill("s-backfill-00000001", version(2), version(5))
    assert world.expected(version(9)) == (delta(1, 8),)
    world.backfill("s-backfill-00000002", version(0), version(1))
    assert world.expected(version(9)) == (delta(-1, 0), delta(1, 8))
    world.open(REWOUND, began=version(5))
    assert world.expected(version(8)) == (delta(-1, 0), delta(1, 7))
    world.open(RESET, began=version(8))  # its rows went with the others
    assert world.expected(version(9)) == (delta(7, 8),)


def test_files_are_those_of_each_checkpoint(world: World) -> None:
    world.open(OPENED, logs={f"sources/0/{at}": _entry(at, name) for at, name in enumerate("ab")})
    assert world.expected(files(1)) == ({"0": FileRange(files=("/in/a", "/in/b"))},)
    seeded = {"sources/0/0": b"\n".join((_entry(0, "a"), *_entry(0, "b").split(b"\n")[1:]))}
    world.open(
        RESET,
        logs={**seeded, "sources/0/1": _entry(1, "c")},
        began=files(0),
        kept={"t": files(1)},
    )
    assert world.expected(files(1)) == ({"0": FileRange(files=("/in/a", "/in/b", "/in/c"))},)


def _entry(at: int, name: str) -> bytes:
    return f'v1\n{{"path":"/in/{name}","timestamp":1,"batchId":{at}}}'.encode()
