"""A plain stream on disk, as Spark leaves it: files into files, its batches committed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from holdfast.apply.apply import apply_plan, continue_plan
from holdfast.apply.stores import Stores
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import Plan
from holdfast.plan.requests import Request
from holdfast.record.layout import journal_path
from tests.unit.apply.plans import look
from tests.unit.apply.quiet import quieten

LINE = '{"batchWatermarkMs":0,"batchTimestampMs":1700000000000,"conf":{}}'
RESET = Request(goal="reset", start="earliest", output="truncate")
REWIND = Request(goal="rewind", batch=0, output="restore")
REPLAY = Request(goal="replay", batches=1, output="restore")
RETIRE = Request(goal="retire")


@dataclass(frozen=True, slots=True)
class PlainStream:
    """Checkpoint `cp/orders`, output `lake/orders`."""

    home: Path

    @property
    def checkpoint(self) -> Path:
        """Return where its program says."""
        return self.home / "cp" / "orders"

    @property
    def out(self) -> Path:
        """Return the directory of its file sink."""
        return self.home / "lake" / "orders"

    def create(self, *, batches: int = 2, output: bool = True) -> PlainStream:
        """Write it to disk."""
        _put(self.checkpoint / "metadata", '{"id":"5a1f7e0a-55a1-4c6e-9d5c-0b7f1d1f0a01"}')
        for batch in range(batches):
            self.add_batch(batch, output=output)
        quieten(self.home)
        return self

    def add_batch(self, batch: int, *, output: bool = True) -> None:
        """Add what a batch leaves, in the order of Spark."""
        read = {"path": f"file:///in/{batch}.txt", "timestamp": 1, "batchId": batch}
        _put(self.checkpoint / f"sources/0/{batch}", f"v1\n{json.dumps(read)}")
        offset = json.dumps({"logOffset": batch})
        _put(self.checkpoint / f"offsets/{batch}", f"v1\n{LINE}\n{offset}")
        if output:
            self._add_output(batch)
        _put(self.checkpoint / f"commits/{batch}", 'v1\n{"nextBatchWatermarkMs":0}')

    def _add_output(self, batch: int) -> None:
        file = self.out / f"part-{batch}.parquet"
        _put(file, f"rows of batch {batch}")
        entry = {
            "path": file.as_uri(),
            "size": file.stat().st_size,
            "isDir": False,
            "modificationTime": 1,
            "blockReplication": 1,
            "blockSize": 1,
            "action": "add",
        }
        _put(self.out / f"_spark_metadata/{batch}", f"v1\n{json.dumps(entry)}")

    def plan(self, request: Request) -> Plan:
        """Return the plan for a goal."""
        sinks = (str(self.out),) if self.out.exists() else ()
        looks = DiagnoseRequest(location=str(self.checkpoint), sinks=sinks)
        found = make_plan(request, looks)
        assert isinstance(found, Plan), found
        return found

    def apply(self, plan: Plan, stores: Stores | None = None) -> str:
        """Apply a plan with all that it needs, or go on with it; return where its journal is."""
        stores = stores or self.stores()
        if self.is_begun(plan):
            return continue_plan(plan, stores)
        return apply_plan(plan, stores, allowed=plan.words)

    def stores(self) -> Stores:
        """Return what its plans change."""
        return Stores(roots=(str(self.home / "lake"), str(self.home / "new")))

    def is_begun(self, plan: Plan) -> bool:
        """Return whether a plan has a journal."""
        return (self.journal(plan) / "plan.json").exists()

    def journal(self, plan: Plan) -> Path:
        """Return where the journal of a plan is."""
        return self.home / "cp/_holdfast/orders" / journal_path(plan.id)

    def look(self) -> dict[str, bytes]:
        """Return all of its files, without those that Holdfast keeps."""
        return look(self.home)


def _put(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    if file.name in ("metadata", "part-1.parquet"):  # Hadoop keeps one beside every file
        (file.parent / f".{file.name}.crc").write_bytes(b"crc\0" + len(text).to_bytes(4, "big"))
