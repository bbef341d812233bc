"""A guarded stream on disk: its checkpoint, its record, and sinks that say what a test gives."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from holdfast.ids import BatchId, QueryId
from holdfast.judgement import probing
from holdfast.judgement.case import DiagnoseRequest
from holdfast.ledger.row import Binding, LedgerRow
from holdfast.plan import world
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.requests import Request
from holdfast.plan.world import SinkNow
from holdfast.record.contracts import Contract, SinkContract, keep_contract
from holdfast.record.documents import encode
from holdfast.record.generations import Generation
from holdfast.record.runs import Run
from holdfast.storage.location import parse_location
from holdfast.storage.write_local import LocalWriter
from tests.fuzz.writers import lz4

ID = "5a1f7e0a-55a1-4c6e-9d5c-0b7f1d1f0a0"
LINE = '{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}'
_NO_ROWS = lz4(b"\xff" * 4)
"""A state file that ends at once."""
OLD, NEW = "2026-01-01T00:00:00+00:00", "2099-01-01T00:00:00+00:00"


def end(batch: int) -> str:
    """Return where a batch ends."""
    return f'{{"0":{{"topic":{{"0":{batch}}}}}}}'


@dataclass(kw_only=True)
class OnDisk:
    """Streams below a root."""

    root: Path
    sinks: dict[tuple[str, str], SinkNow] = field(default_factory=dict)

    def add(
        self,
        stream: str,
        rows: Mapping[str, int | None],
        *,
        lives: tuple[Generation, ...] = (),
        unseen: tuple[str, ...] = (),
        keys: tuple[str, ...] = (),
        sequence_by: str | None = None,
        operators: tuple[str, ...] = (),
        sources: int = 1,
        reads: str = "",
    ) -> None:
        """Write the record of a stream, with sinks that hold batches."""
        lives = lives or (self.life(stream),)
        for each in lives:
            self.record(stream).put(each.path, encode(each))
        places = tuple(
            SinkContract(
                kind="postgres",
                place=f"postgresql://h/d#{name}",
                label=name,
                keys=keys,
                sequence_by=sequence_by,
            )
            for name in rows
        )
        contract = Contract(
            sources=tuple(f"Table[{reads}]" if reads else f"Kafka[{at}]" for at in range(sources)),
            sinks=(*rows, *unseen),
            sink_places=places,
            operators=operators,
            output_mode="append",
            state_provider="",
        )
        keep_contract(self.record(stream), contract)
        ran = Run(
            epoch=8,
            run_id=f"{ID}1",
            generation=lives[-1].number,
            contract=contract.digest,
            spark="4.2",
            started_at=OLD,
            first_batch=0,
        )
        self.record(stream).put(ran.path, encode(ran))
        for place in places:
            batch = rows[place.label]
            row = None if batch is None else _row(stream, place.label, batch, life=lives[-1])
            now = SinkNow(
                contract=place, display_name=f"the table {place.label}", row=row, table="1"
            )
            self.sinks[stream, place.label] = now

    def life(self, stream: str, number: int = 1, **more: str | int) -> Generation:
        """Return a generation."""
        name = stream if number == 1 else f"{stream}.g{number}"
        given: dict[str, str | int] = {
            "checkpoint": str(self.root / name),
            "query_id": f"{ID}{number}",
            "first_batch": 0,
            "why": "opened",
            "opened_at": OLD,
        }
        return Generation(number=number, **{**given, **more})  # type: ignore[arg-type]

    def checkpoint(self, place: str, newest: int, *, query: int = 1) -> None:
        """Write a checkpoint up to a batch that was committed."""
        home = LocalWriter(parse_location(str(self.root / place)))
        home.put("metadata", f'{{"id":"{ID}{query}"}}'.encode())
        for batch in range(newest + 1):
            entry = f'v1\n{LINE}\n{{"topic":{{"0":{batch}}}}}'
            home.put(f"offsets/{batch}", entry.encode())
            home.put(f"commits/{batch}", b'v1\n{"nextBatchWatermarkMs":0}')

    def state(self, place: str, *versions: str) -> None:
        """Write files of the state of one operator with one partition."""
        home = LocalWriter(parse_location(str(self.root / place)))
        metadata = {"operatorInfo": {"operatorId": 0, "operatorName": "stateStoreSave"}}
        stores = [{"storeName": "default", "numColsPrefixKey": 0, "numPartitions": 1}]
        text = json.dumps({**metadata, "stateStoreInfo": stores})
        home.put("state/0/_metadata/metadata", f"v1\n{text}".encode())
        for name in versions:
            home.put(f"state/0/0/{name}", _NO_ROWS)

    def checkpoint_of(self, place: str) -> LocalWriter:
        """Return a checkpoint."""
        return LocalWriter(parse_location(str(self.root / place)))

    def record(self, stream: str) -> LocalWriter:
        """Return the record of a stream."""
        return LocalWriter(parse_location(str(self.root / "_holdfast" / stream)))

    def plan(self, stream: str, **asked: object) -> Plan | NoPlan:
        """Make a plan."""
        request = Request(**asked)  # type: ignore[arg-type]
        return make_plan(request, self.looks(stream))

    def looks(self, stream: str) -> DiagnoseRequest:
        """Return where a stream is."""
        return DiagnoseRequest(location=stream, root=str(self.root))


def _row(stream: str, sink: str, batch: int, *, life: Generation) -> LedgerRow:
    return LedgerRow(
        stream=stream,
        sink=sink,
        generation=life.number,
        epoch=8,
        nonce="0" * 32,
        binding=Binding(query_id=QueryId(life.query_id), checkpoint=life.checkpoint),
        last_batch=BatchId(batch),
        digest=None,
        end_offsets=end(batch) if batch >= 0 else "{}",
    )


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> OnDisk:
    """Return a root without streams."""
    made = OnDisk(root=tmp_path)
    monkeypatch.setattr(probing, "probe_sources", lambda *_: ())
    monkeypatch.setattr(
        world, "look_at_sink", lambda contract, stream, _: made.sinks[stream, contract.label]
    )
    return made
