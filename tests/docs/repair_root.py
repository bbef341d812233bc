"""The stream that the pages about repair show: files into a Delta table, without a server.

    /srv/streams/readings               its checkpoint, as Spark has written it: batches 0 to 11
    /srv/streams/_holdfast/readings     its record
    /srv/in                             the files that it has read
    /srv/lake/readings                  its table: a log with one version for each batch

Reading a Delta table's log needs no Spark, so every plan and every rehearsal runs as it stands.
"""

from __future__ import annotations

import json
import os
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from holdfast.ids import BatchId, QueryId
from holdfast.ledger.coverage import NOTHING_READ, Coverage, read_coverage
from holdfast.ledger.row import NO_BATCH, Binding, LedgerRow
from holdfast.record.contracts import Contract, SinkContract
from holdfast.record.documents import Document, encode
from holdfast.record.generations import OPENED, Generation
from holdfast.record.input_files import InputFile, keep_input_files
from holdfast.record.leases import Lease
from holdfast.record.owner import this_process
from holdfast.record.runs import FINISHED, Run
from holdfast.sinks.delta.commit_notes import encode_fence, encode_row
from holdfast.sinks.delta.log_ledger import (
    FENCE_SLOT,
    ROW_SLOT,
    app_id,
    transaction_version,
)
from holdfast.storage.open import open_reader
from holdfast.storage.write import open_writer
from tests.house.repository import ROOT

STREAM, NEWEST = "readings", 11
RUN_ID = "308f0242-442c-4f8c-9e68-5b944bf5e6ae"
_INPUT = "/tmp/holdfast-fixtures/4.2/cases/file-source/input"
TOKEN = "17734f8836c848a7a41446a56d61c3f3"
AT = "2026-11-15T09:32:03+00:00"


def make_root(srv: Path) -> None:
    """Create the stream below a directory, which stands for `/srv`."""
    _unpack(srv)
    checkpoint = srv / "streams" / STREAM
    query_id = json.loads((checkpoint / "metadata").read_text())["id"]
    _write_table(srv, query_id)
    _write_record(srv, query_id)


def covered(srv: Path, batch: int) -> Coverage:
    """Return what a batch covers."""
    found = read_coverage(open_reader(str(srv / "streams" / STREAM)), BatchId(batch))
    assert isinstance(found, Coverage)
    return found


def _unpack(srv: Path) -> None:
    with tarfile.open(ROOT / "tests/checkpoints/4.2-file-source.tar.xz") as archive:
        archive.extractall(srv, filter="data")
    (srv / "streams").mkdir()
    checkpoint = srv / "streams" / STREAM
    (srv / "checkpoint").rename(checkpoint)
    for sidecar in checkpoint.rglob(".*.crc"):
        sidecar.unlink()  # as on an object store, where Hadoop writes none
    (srv / "in").mkdir()
    for log in (checkpoint / "sources/0").iterdir():
        log.write_text(log.read_text().replace(_INPUT, str(srv / "in")))
    for entry in _entries_of(checkpoint / "sources/0"):
        file = Path(entry["path"].removeprefix("file://"))
        file.write_text("{}")
        os.utime(file, (entry["timestamp"] / 1000,) * 2)


def _entries_of(log: Path) -> Iterator[dict[str, Any]]:
    """Yield the entries of a source's log, which name the files that were read."""
    for file in log.iterdir():
        for line in file.read_text().splitlines()[1:]:
            yield json.loads(line)


def _write_table(srv: Path, query_id: str) -> None:
    """Write the log of the table: its metadata, a fence, a row, and a version for each batch."""
    app = app_id(STREAM, STREAM)
    fields = [{"name": "value", "type": "string", "nullable": True, "metadata": {}}]
    schema = json.dumps({"type": "struct", "fields": fields})
    table = {"id": "5a1d", "schemaString": schema, "partitionColumns": [], "configuration": {}}
    row = LedgerRow(
        stream=STREAM,
        sink=STREAM,
        generation=1,
        epoch=1,
        nonce=TOKEN,
        binding=Binding(query_id=QueryId(query_id), checkpoint=str(srv / "streams" / STREAM)),
        last_batch=NO_BATCH,
        digest=None,
        end_offsets=NOTHING_READ,
    )
    slots = [(FENCE_SLOT, encode_fence(epoch=1, nonce=TOKEN)), (ROW_SLOT, _note(row, 1))]
    for batch in range(NEWEST + 1):
        batch_covers = covered(srv, batch)
        row = replace(
            row,
            last_batch=BatchId(batch),
            digest=batch_covers.digest,
            end_offsets=batch_covers.end_offsets,
        )
        slots.append((batch + 2, _note(row, batch + 2)))
    log = srv / "lake" / STREAM / "_delta_log"
    log.mkdir(parents=True)
    created = {"commitInfo": {"operation": "CREATE TABLE"}}
    (log / f"{0:020}.json").write_text("\n".join(map(json.dumps, (created, {"metaData": table}))))
    for version, (slot, note) in enumerate(slots, start=1):
        info = {"commitInfo": {"operation": "WRITE", "userMetadata": note}}
        txn = {"txn": {"appId": app, "version": transaction_version(1, 1, slot)}}
        (log / f"{version:020}.json").write_text("\n".join(map(json.dumps, (info, txn))))


def _note(row: LedgerRow, seen: int) -> str:
    return encode_row(row, fenced_at=1, table_id="5a1d", seen=seen)


def _write_record(srv: Path, query_id: str) -> None:
    record = open_writer(str(srv / "streams/_holdfast" / STREAM))
    sink = SinkContract(kind="delta", place=str(srv / "lake" / STREAM), label=STREAM)
    contract = Contract(
        sources=(f"FileSource[{srv}/in]",),
        sinks=(STREAM,),
        output_mode="append",
        operators=(),
        state_provider="",
        spark="4.2.0",
        source_options=({"path": str(srv / "in")},),
        sink_places=(sink,),
    )
    documents: tuple[Document, ...] = (
        Generation(
            number=1,
            checkpoint=str(srv / "streams" / STREAM),
            query_id=query_id,
            first_batch=0,
            why=OPENED,
            opened_at=AT,
        ),
        Lease(epoch=1, owner=this_process(), token=TOKEN, nonce=TOKEN, taken_at=AT, released=True),
        contract,
        Run(
            epoch=1,
            run_id=RUN_ID,
            generation=1,
            contract=contract.digest,
            spark="4.2",
            started_at=AT,
            first_batch=0,
            last_batch=NEWEST,
            ended=FINISHED,
            ended_at=AT,
        ),
    )
    for each in documents:
        record.put(each.path, encode(each))
    for batch in range(NEWEST + 1):
        files = {
            source: [InputFile(each.log_offset, each.timestamp_ms, each.path) for each in entries]
            for source, entries in covered(srv, batch).files.items()
        }
        keep_input_files(record, files, generation=1, batch=batch)
