"""Iceberg as source and as sink of a stream: expiry, rewrites, rollbacks, deleted entries.

Real runs of Spark 4.1 with Iceberg 1.12, in one process that all situations share.
"""

from __future__ import annotations

import atexit
import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from campaigns.situations.situation import Bench, Shown, Situation
from holdfast.clock import now
from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.outputs.iceberg_reader import read_iceberg_output
from holdfast.evidence.overview import overview_of
from holdfast.proof.multiset import compare
from holdfast.rules import Finding
from holdfast.sources.iceberg.kind import IcebergOffset
from holdfast.sources.iceberg.probe import probe_iceberg
from holdfast.sources.registry import parse_offset
from holdfast.storage.open import open_reader
from holdfast.testing.rule_cases import findings_in
from lab.iceberg import IcebergSession

_NEVER = "TIMESTAMP '2099-01-01 00:00:00'"


@cache
def _session() -> IcebergSession:
    directory = Path(tempfile.mkdtemp(prefix="holdfast-iceberg-"))
    session = IcebergSession(directory)
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    atexit.register(session.close)
    return session


@dataclass(kw_only=True)
class Copying:
    """A stream from one Iceberg table into another."""

    name: str
    checkpoint: Path
    session: IcebergSession = field(default_factory=_session)

    def __post_init__(self) -> None:
        """Create both tables."""
        for table in (self.source, self.sink):
            self.session.sql(f"CREATE TABLE {table} (k STRING) USING iceberg")

    @property
    def source(self) -> str:
        """The table that is read."""
        return f"ice.{self.name}.source"

    @property
    def sink(self) -> str:
        """The table that is written."""
        return f"ice.{self.name}.sink"

    def add(self, *rows: str) -> None:
        """Add rows to the source, as one snapshot."""
        self.session.insert(self.source, rows)

    def call(self, procedure: str, table: str, arguments: str) -> None:
        """Call a procedure of Iceberg for `source` or `sink`."""
        name = f"'{self.name}.{table}'"
        self.session.sql(f"CALL ice.system.{procedure}(table => {name}, {arguments})")

    def snapshots(self, table: str) -> list[int]:
        """Return the snapshots of `source` or `sink`, oldest first."""
        metadata = self.place(table) / "metadata"
        version = (metadata / "version-hint.text").read_text().strip()
        found = json.loads((metadata / f"v{version}.metadata.json").read_text())
        return [each["snapshot-id"] for each in found["snapshots"]]

    def place(self, table: str) -> Path:
        """Return where `source` or `sink` is."""
        return self.session.warehouse / self.name / table

    def run(self) -> str:
        """Run the stream until all is read; return Spark's error."""
        return self.session.run(self.source, self.checkpoint, self.sink)

    def forget(self, *entries: str) -> None:
        """Delete entries of the checkpoint, with Hadoop's checksums."""
        for entry in entries:
            path = self.checkpoint / entry
            path.unlink()
            path.with_name(f".{path.name}.crc").unlink(missing_ok=True)

    def judge(self) -> tuple[Finding, ...]:
        """Return what every rule finds, with a look at both tables."""
        evidence = collect(open_reader(str(self.checkpoint)))
        newest = evidence.checkpoint.newest_readable
        offset = None if newest is None else parse_offset(newest.offsets[0].text or "")
        if not isinstance(offset, IcebergOffset):
            raise TypeError(f"{offset} is no offset of Iceberg")
        table = open_reader(str(self.place("source")))
        output = read_iceberg_output(open_reader(str(self.place("sink"))), self.sink)
        case = Case(
            checkpoint=evidence.checkpoint,
            overview=overview_of(evidence),
            sources=(probe_iceberg("0", offset, table, now=now()),),
            outputs=(output,),
        )
        return findings_in(case)


def _situation(name: str, code: str, damage: Callable[[Copying], None]) -> Situation:
    def make(bench: Bench) -> Shown:
        stream = Copying(name=name.replace("-", "_"), checkpoint=bench.place / "checkpoint")
        expected = ["a1", "a2", "a3", "a4"]
        stream.add("a1", "a2")
        stream.run()
        stream.add("a3")
        stream.run()
        healthy = stream.judge()
        damage(stream)
        found = stream.judge()
        stream.add("a4")
        error = stream.run()
        rows = [row for row in stream.session.rows(stream.sink) if row != "other"]
        shown = None if error else compare(expected, rows)
        return Shown(healthy=healthy, findings=found, difference=shown, error=error)

    return Situation(name=name, code=code, make=make)


def _expire_offset(stream: Copying) -> None:
    stream.add("a5")
    ids = stream.snapshots("source")
    stream.call("expire_snapshots", "source", f"snapshot_ids => ARRAY({ids[1]})")


def _expire_first(stream: Copying) -> None:
    ids = stream.snapshots("source")
    stream.call("expire_snapshots", "source", f"snapshot_ids => ARRAY({ids[0]})")


def _overwrite(stream: Copying) -> None:
    stream.session.insert(stream.source, ["z1"], how="OVERWRITE")


def _roll_back(table: str) -> Callable[[Copying], None]:
    def damage(stream: Copying) -> None:
        first = stream.snapshots(table)[0]
        stream.call("rollback_to_snapshot", table, f"snapshot_id => {first}")

    return damage


def _expire_sink(stream: Copying) -> None:
    stream.forget("commits/1")
    stream.session.insert(stream.sink, ["other"])
    stream.call("expire_snapshots", "sink", f"older_than => {_NEVER}, retain_last => 1")


SITUATIONS = (
    _situation("iceberg-snapshot-expired", "HF361", _expire_offset),
    _situation("iceberg-source-overwritten", "HF362", _overwrite),
    _situation("iceberg-source-rolled-back", "HF363", _roll_back("source")),
    _situation("iceberg-first-snapshot-expired", "HF364", _expire_first),
    _situation(
        "iceberg-offset-deleted", "HF741", lambda each: each.forget("offsets/1", "commits/1")
    ),
    _situation("iceberg-sink-rolled-back", "HF742", _roll_back("sink")),
    _situation("iceberg-evidence-expired", "HF744", _expire_sink),
    _situation("iceberg-commit-deleted", "HF745", lambda each: each.forget("commits/1")),
)
