"""How long a plan over a whole pipeline takes: a reset of the first of many streams, with cascade.

    python -m benchmarks.plan_speed [--streams 50 --streams 200 --streams 500]

Every stream has a record, a checkpoint with three batches and a Delta table with its ledger row,
all on disk; the first one feeds two, each of those two more, and so on. Nothing of Spark is needed.
"""

from __future__ import annotations

import json
import time
import uuid
from pathlib import Path

import click

from benchmarks.measuring import spread
from holdfast.ids import BatchId, QueryId
from holdfast.judgement.case import DiagnoseRequest
from holdfast.ledger.coverage import read_coverage
from holdfast.ledger.row import Binding, LedgerRow
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import Plan, encode_plan
from holdfast.plan.requests import Request
from holdfast.record.contracts import Contract, SinkContract
from holdfast.record.documents import encode
from holdfast.record.generations import OPENED, Generation
from holdfast.record.layout import record_location
from holdfast.record.runs import FINISHED, Run
from holdfast.sinks.delta.commit_notes import encode_row
from holdfast.sinks.delta.log_ledger import app_id, transaction_version
from holdfast.storage.location import parse_location
from holdfast.storage.write import open_writer
from lab.scratch import scratch_directory

AT = "2026-11-17T00:00:00+00:00"
LAST = BatchId(2)


@click.command(help=__doc__)
@click.option("--streams", "sizes", multiple=True, type=int, default=(50, 200, 500))
@click.option("--turns", default=3, show_default=True)
def main(*, sizes: tuple[int, ...], turns: int) -> None:
    """Measure each size."""
    click.echo(f"{'streams':>8}{'plan, s (median, range)':>28}{'steps':>8}{'file, MB':>10}")
    for size in sizes:
        with scratch_directory() as scratch:
            for number in range(size):
                make_stream(scratch, number)
            seconds = []
            for _ in range(turns):
                began = time.perf_counter()
                found = plan_all(scratch)
                seconds.append(time.perf_counter() - began)
            assert len(found.streams) == size, len(found.streams)
            shown = spread(seconds).show(2)
            file_mb = len(encode_plan(found)) / 1e6
            click.echo(f"{size:>8}{shown:>28}{len(found.steps):>8}{file_mb:>10.1f}")


def plan_all(home: Path) -> Plan:
    """Plan the reset of the first stream and of everything below it."""
    request = Request(goal="reset", start="earliest", output="truncate", cascade=True)
    looks = DiagnoseRequest(location=name_of(0), root=str(home / "streams"), probe=True)
    found = make_plan(request, looks)
    assert isinstance(found, Plan), found
    return found


def name_of(number: int) -> str:
    """Return the name of a stream."""
    return f"stream-{number:04d}"


def make_stream(home: Path, number: int) -> None:
    """Make the checkpoint, the record and the table of one stream."""
    root, name = home / "streams", name_of(number)
    table = home / f"tables/{name}"
    source = home / ("in" if number == 0 else f"tables/{name_of((number - 1) // 2)}")
    query_id = str(uuid.uuid4())
    checkpoint = root / name
    offset = {"sourceVersion": 1, "reservoirId": "t", "index": -1, "isStartingVersion": False}
    for batch in range(LAST + 1):
        line = json.dumps({"batchWatermarkMs": 0, "batchTimestampMs": batch, "conf": {}})
        entry = f"v1\n{line}\n{json.dumps({**offset, 'reservoirVersion': batch + 1})}"
        put(checkpoint / f"offsets/{batch}", entry)
        put(checkpoint / f"commits/{batch}", 'v1\n{"nextBatchWatermarkMs":0}')
    put(checkpoint / "metadata", json.dumps({"id": query_id}))
    write_record(root, name, query_id=query_id, places=(str(source), str(table)))
    covered = read_coverage(open_writer(str(checkpoint)), LAST)
    row = LedgerRow(
        stream=name,
        sink="out",
        generation=1,
        epoch=1,
        nonce="0" * 32,
        binding=Binding(query_id=QueryId(query_id), checkpoint=str(checkpoint)),
        last_batch=LAST,
        digest=covered.digest,  # type: ignore[union-attr]
        end_offsets=covered.end_offsets,  # type: ignore[union-attr]
    )
    note = encode_row(row, fenced_at=0, table_id="t", seen=-1)
    version = transaction_version(1, 1, 4)
    actions = (
        {"commitInfo": {"operation": "WRITE", "userMetadata": note}},
        {"txn": {"appId": app_id(name, "out"), "version": version}},
    )
    put(table / f"_delta_log/{0:020d}.json", "\n".join(map(json.dumps, actions)))


def write_record(root: Path, name: str, *, query_id: str, places: tuple[str, str]) -> None:
    """Write the generation, the contract and the run of one stream."""
    source, table = places
    contract = Contract(
        sources=(f"DeltaSource[file:{source}]",),
        sinks=("out",),
        output_mode="append",
        operators=(),
        state_provider="",
        source_options=({"path": source},),
        sink_places=(SinkContract(kind="delta", place=table, label="out"),),
    )
    generation = Generation(
        number=1,
        checkpoint=str(root / name),
        query_id=query_id,
        first_batch=0,
        why=OPENED,
        opened_at=AT,
    )
    run = Run(
        epoch=1,
        run_id=str(uuid.uuid4()),
        generation=1,
        contract=contract.digest,
        spark="4.2",
        started_at=AT,
        first_batch=0,
        last_batch=LAST,
        ended=FINISHED,
        ended_at=AT,
    )
    record = Path(str(record_location(parse_location(str(root)), name)))
    for document in (generation, contract, run):
        put(record / document.path, encode(document).decode())


def put(path: Path, content: str) -> None:
    """Write a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)


if __name__ == "__main__":
    main()
