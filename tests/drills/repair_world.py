"""A stream for repairs without Spark: a checkpoint that Spark has written, rows in PostgreSQL."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import psycopg

import holdfast as hf
from campaigns.repair_kills.world import BATCHES, DSN, World
from holdfast.ids import BatchId, QueryId
from holdfast.ledger.row import Binding, LedgerRow
from holdfast.record.contracts import Contract, SinkContract
from holdfast.record.documents import encode
from holdfast.record.generations import read_generations
from holdfast.record.runs import Run
from holdfast.sinks.postgres.ledger_tables import ddl
from holdfast.storage.write import open_writer
from tests.docs.repair_root import STREAM, TOKEN, covered, make_root

SINK = hf.Postgres(f"env:{DSN}", table=STREAM)


class WrittenWorld(World):
    """One guarded stream and one bare checkpoint, each of as many batches as in the campaign."""

    @property
    def root(self) -> Path:
        """Of the guarded stream."""
        return self.home / "streams"

    def write(self) -> None:
        """Write everything, and keep it. The variable of the DSN is set before."""
        self.kept.mkdir(parents=True)
        self.tables.never_wait_for_the_disk()
        make_root(self.home)
        shutil.rmtree(self.home / "lake")
        for path in self.home.rglob("*"):
            name = path.name.removesuffix(".compact").removesuffix(".log").removeprefix("0001-")
            if path.is_file() and name.isdecimal() and int(name) >= BATCHES:
                path.unlink()
        self._write_contract()
        self._write_rows()
        shutil.copytree(self.root / STREAM, self.home / "bare" / STREAM)
        self.keep()

    def _write_contract(self) -> None:
        """Have the record say that the rows are in PostgreSQL."""
        record = open_writer(str(self.root / "_holdfast" / STREAM))
        found = next((self.root / "_holdfast" / STREAM / "contracts").iterdir())
        sink = SinkContract(kind=SINK.kind, place=SINK.place, label=SINK.label, secret=SINK.secret)
        contract = msgspec.structs.replace(
            msgspec.json.decode(found.read_bytes(), type=Contract), sink_places=(sink,)
        )
        found.unlink()
        record.put(contract.path, encode(contract))
        found = next((self.root / "_holdfast" / STREAM / "runs").iterdir())
        run = msgspec.json.decode(found.read_bytes(), type=Run)
        run = msgspec.structs.replace(run, contract=contract.digest, last_batch=BATCHES - 1)
        found.write_bytes(encode(run))

    def _write_rows(self) -> None:
        with psycopg.connect(self.dsn) as connection:
            connection.execute(ddl().encode())
            connection.execute(f"create table {STREAM} (value text)".encode())
            rows = [(text,) for batch in range(BATCHES) for text in (f"row {batch}", "same")]
            with connection.cursor() as cursor:
                cursor.executemany(f"insert into {STREAM} values (%s)".encode(), rows)
        (life,) = read_generations(open_writer(str(self.root / "_holdfast" / STREAM)))
        last = covered(self.home, BATCHES - 1)
        row = LedgerRow(
            stream=STREAM,
            sink=STREAM,
            generation=1,
            epoch=1,
            nonce=TOKEN,
            binding=Binding(query_id=QueryId(life.query_id), checkpoint=life.checkpoint),
            last_batch=BatchId(BATCHES - 1),
            digest=last.digest,
            end_offsets=last.end_offsets,
        )
        ledger = SINK.open_ledger()
        assert ledger is not None
        assert ledger.replace(None, row)
        ledger.close()
