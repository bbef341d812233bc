"""A plain stream on disk: its event log, its Delta table or file output, and its checkpoint."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.requests import Request
from holdfast.plan.steps import FillTree

QUERY = "9d1f0000-0000-4000-8000-000000000001"
RUN = "9d1f0000-0000-4000-8000-00000000000a"
_CLASS = "org.apache.spark.sql.streaming.StreamingQueryListener$"
_BEGAN = datetime(2026, 11, 16, 3, 0, tzinfo=UTC)
KAFKA = "KafkaV2[Subscribe[orders]]"
PER_BATCH = 10


def kafka(batch: int, *, extra: int = 0) -> dict[str, dict[str, int]]:
    """Return where a batch ends: ten records of each of two partitions."""
    end = (batch + 1) * PER_BATCH
    return {"orders": {"0": end + extra, "1": end}}


def at(batch: int, *, later: float = 0.0) -> datetime:
    """Return when a batch began: one each minute."""
    return _BEGAN + timedelta(minutes=batch, seconds=later)


def _text(when: datetime) -> str:
    return when.isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass(kw_only=True)
class PlainStream:
    """What a plain stream leaves."""

    home: Path
    query_id: str = QUERY
    events: list[str] = field(default_factory=list)
    versions: int = 0

    @property
    def checkpoint(self) -> Path:
        """Where it is, or was."""
        return self.home / "checkpoint" / "orders"

    @property
    def table(self) -> Path:
        """Where its Delta table is."""
        return self.home / "orders"

    @property
    def log(self) -> Path:
        """Where its event log is."""
        return self.home / "events"

    def started(self, *, query: str = "", run: str = RUN, name: str | None = "orders") -> None:
        """Log a start."""
        self._event(
            "QueryStartedEvent",
            id=query or self.query_id,
            runId=run,
            name=name,
            timestamp=_text(_BEGAN),
        )

    def ran(
        self,
        batch: int,
        end: object = None,
        *,
        start: object = None,
        query: str = "",
        run: str = RUN,
        when: datetime | None = None,
        rows: int = 2 * PER_BATCH,
        sink: str = "",
        source: str = KAFKA,
        operators: Sequence[str] = (),
    ) -> None:
        """Log the progress of a batch."""
        begins = kafka(batch - 1) if batch else None
        gave = {
            "description": source,
            "startOffset": begins if start is None else start,
            "endOffset": kafka(batch) if end is None else end,
            "latestOffset": None,
            "numInputRows": rows,
        }
        progress = {
            "id": query or self.query_id,
            "runId": run,
            "name": "orders",
            "timestamp": _text(when or at(batch)),
            "batchId": batch,
            "durationMs": {"addBatch": 400, "triggerExecution": 900},
            "stateOperators": [{"operatorName": each} for each in operators],
            "sources": [gave],
            "sink": {"description": sink or f"DeltaSink[{self.table}]", "numOutputRows": -1},
        }
        self._event("QueryProgressEvent", progress=progress)

    def described(self, checkpoint: Path, *, query: str = "") -> None:
        """Log what `hf.record_queries` adds."""
        self.events.append(
            json.dumps(
                {
                    "Event": "holdfast.QueryDescribed",
                    "id": query or self.query_id,
                    "runId": RUN,
                    "checkpoint": str(checkpoint),
                    "outputMode": "append",
                },
                separators=(",", ":"),
            )
        )

    def _event(self, kind: str, **facts: object) -> None:
        self.events.append(json.dumps({"Event": f"{_CLASS}{kind}", **facts}, separators=(",", ":")))

    def commit(
        self,
        batch: int | None,
        *,
        query: str = "",
        operation: str = "STREAMING UPDATE",
        when: datetime | None = None,
        files: Iterable[Mapping[str, object]] | None = None,
        parameters: Mapping[str, str] | None = None,
    ) -> int:
        """Commit to the Delta table; return the version."""
        version, self.versions = self.versions, self.versions + 1
        written = when or at(batch or 0, later=0.5)
        lines: list[dict[str, object]] = [
            {
                "commitInfo": {
                    "timestamp": int(written.timestamp() * 1000),
                    "operation": operation,
                    "operationParameters": {"outputMode": "Append", **(parameters or {})},
                    "operationMetrics": {"numOutputRows": str(2 * PER_BATCH)},
                }
            }
        ]
        if version == 0:
            created = int(_BEGAN.timestamp() * 1000)
            table = {"id": "t", "schemaString": "{}", "configuration": {}, "createdTime": created}
            lines.append({"metaData": table})
        if batch is not None:
            lines.append({"txn": {"appId": query or self.query_id, "version": batch}})
        lines += [{"add": add} for add in (self.files(batch) if files is None else files)]
        log = self.table / "_delta_log"
        log.mkdir(parents=True, exist_ok=True)
        texts = (json.dumps(each, separators=(",", ":")) for each in lines)
        (log / f"{version:020d}.json").write_text("\n".join(texts) + "\n")
        return version

    def files(
        self, batch: int | None, *, names: tuple[str, str] = ("partition", "offset")
    ) -> list[dict[str, object]]:
        """Return the files of a batch: one for each partition, with statistics."""
        if batch is None:
            return []
        first, last = batch * PER_BATCH, (batch + 1) * PER_BATCH - 1
        return [self.file({names[0]: part, names[1]: (first, last)}) for part in (0, 1)]

    def file(self, columns: Mapping[str, object], *, records: int = PER_BATCH) -> dict[str, object]:
        """Return a file with the lowest and the highest value of each column."""
        pairs = {
            name: each if isinstance(each, tuple) else (each, each)
            for name, each in columns.items()
        }
        stats = {
            "numRecords": records,
            "minValues": {name: low for name, (low, _) in pairs.items()},
            "maxValues": {name: high for name, (_, high) in pairs.items()},
            "nullCount": dict.fromkeys(pairs, 0),
        }
        return {
            "path": f"part-{self.versions}.parquet",
            "partitionValues": {},
            "dataChange": True,
            "stats": json.dumps(stats),
        }

    def without_columns(self, batch: int) -> list[dict[str, object]]:
        """Return the files of a batch of a table that does not keep offsets."""
        return [self.file({"n": (batch * PER_BATCH, batch * PER_BATCH + 9)}) for _ in (0, 1)]

    def write_log(self, name: str = "app-1") -> None:
        """Write the events down, as Spark 3 does: one file of one application."""
        self.log.mkdir(parents=True, exist_ok=True)
        first = '{"Event":"SparkListenerLogStart","Spark Version":"4.2.0"}'
        (self.log / name).write_text("\n".join((first, *self.events)) + "\n")

    def runs(self, last: int, *, in_table: int | None = None, keeps_offsets: bool = True) -> None:
        """Log batches 0 to the last one, and commit them up to another."""
        self.started()
        for batch in range(last + 1):
            self.ran(batch)
        for batch in range((last if in_table is None else in_table) + 1):
            self.commit(batch, files=None if keeps_offsets else self.without_columns(batch))
        self.write_log()

    def entry(self, batch: int, end: object = None, *, committed: bool = False) -> None:
        """Write an offset entry, and a commit entry."""
        line = {"batchWatermarkMs": 0, "batchTimestampMs": int(at(batch).timestamp() * 1000)}
        text = "\n".join(("v1", json.dumps({**line, "conf": {}}), json.dumps(end or kafka(batch))))
        self.put(f"offsets/{batch}", text)
        if committed:
            self.put(f"commits/{batch}", 'v1\n{"nextBatchWatermarkMs":0}')

    def put(self, path: str, text: str) -> None:
        """Write a file of the checkpoint."""
        file = self.checkpoint / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def plan(
        self,
        *sinks: Path,
        query_id: str = "",
        among: Path | None = None,
        event_log: bool = True,
    ) -> Plan | NoPlan:
        """Plan the resume."""
        looks = DiagnoseRequest(
            location=str(self.checkpoint),
            sinks=tuple(map(str, sinks or (self.table,))),
            event_log=str(self.log) if event_log else None,
            among=None if among is None else str(among),
        )
        return make_plan(Request(goal="resume", query_id=query_id), looks)


def written(plan: Plan | NoPlan) -> dict[str, str]:
    """Return the files that a plan writes into the checkpoint, by path."""
    return dict(filled(plan).contents)


def filled(plan: Plan | NoPlan) -> FillTree:
    """Return the step that puts the checkpoint in its place."""
    assert isinstance(plan, Plan), plan.reason
    last = plan.steps[-1]
    assert isinstance(last, FillTree)
    return last


def offsets_in(plan: Plan | NoPlan) -> dict[str, object]:
    """Return the offsets of every entry that a plan writes."""
    found = written(plan)
    return {
        path: json.loads(text.split("\n")[2])
        for path, text in found.items()
        if path.startswith("offsets/")
    }


def reason(plan: Plan | NoPlan) -> str:
    """Return why there is no plan."""
    assert isinstance(plan, NoPlan), plan.summary
    return plan.reason


def removed(plan: Plan | NoPlan) -> list[str]:
    """Return the entries that a plan takes away."""
    step = filled(plan)
    gone = [path for path in step.leaves_out if path not in step.contents]
    return [path for path in gone if not path.endswith(".crc")]
