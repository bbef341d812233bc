"""Delta: history is commits of the log, with a checkpoint that Delta writes every ten.

The log is grown by commits in the form of the last real one, each with a link to its file. The
first real commit after them, at a multiple of ten, writes the checkpoint of a living table.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pyspark.sql import DataFrame, SparkSession

import holdfast as hf
from benchmarks.guard_spans import CountingReader
from benchmarks.sink_growth.growing import ROWS, STREAM, GrowingSink
from holdfast.ledger.row import advance
from holdfast.sinks.delta import table
from holdfast.sinks.delta.commit_notes import encode_row
from holdfast.sinks.delta.ledger import DeltaLedgerStore
from holdfast.sinks.delta.log_ledger import FIRST_BATCH_SLOT, transaction_version
from lab.spark import environment

_READER_OF = "reader_of"


class Log:
    """The log of a table."""

    def __init__(self, home: Path) -> None:
        """Read nothing yet."""
        self._home = home
        self._directory = home / "_delta_log"

    @property
    def newest(self) -> int:
        """The newest version."""
        return max(int(path.stem) for path in self._directory.glob("?" * 20 + ".json"))

    @property
    def checkpointed(self) -> int:
        """The version of the newest checkpoint; -1 without one."""
        pointer = self._directory / "_last_checkpoint"
        return int(json.loads(pointer.read_text())["version"]) if pointer.exists() else -1

    def add(self, version: int, *, like: int, number: int, note: str = "") -> None:
        """Commit as another version did, with a file of its own.

        Args:
            version: What is committed.
            like: The other version.
            number: The version of its transaction.
            note: Its note; without one it has none.
        """
        lines = (self._directory / f"{like:020}.json").read_text().splitlines()
        actions = [json.loads(line) for line in lines]
        for action in actions:
            if "add" in action:
                name = f"part-{version:08}.snappy.parquet"
                os.link(self._home / action["add"]["path"], self._home / name)
                action["add"]["path"] = name
            if "txn" in action:
                action["txn"]["version"] = number
            if "commitInfo" in action and note:
                action["commitInfo"]["userMetadata"] = note
        text = "".join(json.dumps(action) + "\n" for action in actions)
        (self._directory / f"{version:020}.json").write_text(text)


class OnDelta(GrowingSink):
    """A table of Delta beside one that bare appends fill."""

    turns = 10
    starts = 3

    def __init__(self, home: Path, rows: DataFrame, requests: Counter[str]) -> None:
        """Write the first batch of both.

        Args:
            home: Has both tables.
            rows: Of each batch.
            requests: What starts ask of the storage of the table.
        """
        self._rows, self._requests = rows, requests
        self._bare_path, self._appended = home / "bare", 0
        self._log, self._bare_log = Log(home / STREAM), Log(self._bare_path)
        super().__init__(hf.Delta(path=str(home / STREAM)), rows)

    def batch(self) -> Any:
        """Return the rows of a batch."""
        return self._rows

    def bare(self) -> None:
        """Append by Delta alone, with the application id that makes a repetition harmless.

        Delta then looks for the id in its log, as its own streaming sink has it do.
        """
        self._appended += 1
        writer = self._rows.write.format("delta").mode("append").option("txnAppId", "bare")
        writer.option("txnVersion", self._appended).save(str(self._bare_path))

    def grow(self, size: int) -> None:
        """Have logs of so many commits; the last ones are real."""
        self.write()
        self.bare()
        self._craft_batches(size)
        self._craft_bare(size)
        self.start()
        for log, write in ((self._log, self.write), (self._bare_log, self.bare)):
            while log.checkpointed < size:
                write()
        self._requests.clear()

    def note(self) -> str:
        """Return how many requests one start makes."""
        self._requests.clear()
        self.start()
        asked = ", ".join(f"{count} {what}" for what, count in sorted(self._requests.items()))
        return f"requests of a start: {asked}"

    def _craft_batches(self, size: int) -> None:
        ledger = self.writer.ledger
        assert isinstance(ledger, DeltaLedgerStore)
        standing = ledger.standing(STREAM)
        assert standing is not None
        assert standing.row is not None
        row, like = standing.row, standing.newest
        for version in range(like + 1, size):
            attempt = self.take_attempt()
            row = advance(row, attempt)
            slot = FIRST_BATCH_SLOT + attempt.batch_id
            table_id, at = ledger.target.table_id, standing.fenced_at
            note = encode_row(row, fenced_at=at, table_id=table_id, seen=version - 1)
            number = transaction_version(attempt.generation, attempt.epoch, slot)
            self._log.add(version, like=like, number=number, note=note)

    def _craft_bare(self, size: int) -> None:
        like = self._bare_log.newest
        for version in range(like + 1, size):
            self._appended += 1
            self._bare_log.add(version, like=like, number=self._appended)


@contextmanager
def delta(directory: Path) -> Iterator[GrowingSink]:
    """Give a table of Delta."""
    os.environ.update(environment(directory, {}, jvm=("-Xmx3g",), log_level="error"))
    spark = SparkSession.builder.getOrCreate()
    rows = spark.range(0, ROWS, 1, 1).selectExpr("id", "concat('row ', id) AS name").cache()
    requests: Counter[str] = Counter()
    opened = getattr(table, _READER_OF)

    def counted(*given: Any) -> Any:
        return CountingReader(opened(*given), requests)

    with patch.object(table, _READER_OF, counted):
        yield OnDelta(directory, rows, requests)
    spark.stop()
