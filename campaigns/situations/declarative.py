"""Spark Declarative Pipelines: flows that share a table, a refresh that was cut off, a new name.

Each situation runs real pipelines against a Spark Connect server of its own.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from campaigns.situations.situation import Bench, Shown, Situation
from holdfast.evidence.case import Case
from holdfast.evidence.collect import collect
from holdfast.evidence.declarative import CHECKPOINTS, address_of, read_place
from holdfast.evidence.overview import overview_of
from holdfast.proof.multiset import compare
from holdfast.rules import Finding
from holdfast.storage.location import parse_location
from holdfast.storage.open import open_reader
from holdfast.testing.rule_cases import findings_in
from lab.pipelines import PipelineServer

_HEAD = """\
from pyspark import pipelines as dp
from pyspark.sql import SparkSession
spark = SparkSession.active()
dp.create_streaming_table("rows")
"""
_FLOW = """
@dp.append_flow(target="rows", name="{name}")
def {name}():
    return spark.readStream.schema("k string").json("{source}")
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A pipeline with one table, on a server of its own."""

    server: PipelineServer
    project: Path

    def deploy(self, **flows: str) -> None:
        """Write the code of the pipeline: flows, and the directory that each one reads."""
        text = _HEAD
        for name, source in flows.items():
            self._source(source).mkdir(parents=True, exist_ok=True)
            text += _FLOW.format(name=name, source=self._source(source))
        code = self.project / "transformations"
        code.mkdir(parents=True, exist_ok=True)
        (code / "rows.py").write_text(text)

    def put(self, source: str, *rows: str) -> None:
        """Add a file of rows to a source."""
        directory = self._source(source)
        directory.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps({"k": row}) + "\n" for row in rows)
        (directory / f"{rows[0]}.json").write_text(text)

    def run(self) -> None:
        """Run it; a run that is not complete is an error here."""
        ran = self.server.run(self.project)
        if not ran.is_completed:
            raise RuntimeError(ran.said[-2_000:])

    def judge(self, flow: str, generation: int = 0) -> tuple[Finding, ...]:
        """Return what every rule finds in one checkpoint of a flow."""
        inside = ("spark_catalog", "default", "rows", flow, str(generation))
        location = parse_location(str(self.storage.joinpath(CHECKPOINTS, *inside)))
        address = address_of(location)
        if address is None:
            raise RuntimeError(f"{location} is not recognised")
        place = read_place(open_reader(address.storage), address, open_reader(str(self.table)))
        evidence = collect(open_reader(location))
        case = Case(checkpoint=evidence.checkpoint, overview=overview_of(evidence), flow=place)
        return findings_in(case)

    def rows(self, bench: Bench) -> list[str]:
        """Return what the table holds, read by another session."""
        found = bench.spark.read.parquet(str(self.table)).collect()
        return [row["k"] for row in found]

    @property
    def storage(self) -> Path:
        """Where the checkpoints are."""
        return self.project / "storage"

    @property
    def table(self) -> Path:
        """Where the rows are."""
        return self.server.warehouse / "rows"

    def _source(self, name: str) -> Path:
        return self.project / "sources" / name


def _shared(bench: Bench) -> Shown:
    with PipelineServer(bench.place / "server") as server:
        pipeline = Pipeline(server=server, project=bench.place / "project")
        pipeline.put("a", "a1", "a2")
        pipeline.deploy(first="a")
        pipeline.run()
        healthy = pipeline.judge("first")
        pipeline.put("b", "b1", "b2", "b3")
        pipeline.deploy(first="a", second="b")
        pipeline.run()
        found = pipeline.judge("second")
        pipeline.put("a", "a3")
        pipeline.put("b", "b4")
        pipeline.run()
        expected = ["a1", "a2", "a3", "b1", "b2", "b3", "b4"]
        return Shown(
            healthy=healthy, findings=found, difference=compare(expected, pipeline.rows(bench))
        )


def _refreshed(bench: Bench) -> Shown:
    with PipelineServer(bench.place / "server") as server:
        pipeline = Pipeline(server=server, project=bench.place / "project")
        pipeline.deploy(first="a")
        pipeline.put("a", "a1", "a2")
        pipeline.run()
        server.run(pipeline.project, full_refresh=["rows"])
        healthy = pipeline.judge("first", 1)
        # What a crash leaves after the new checkpoint's directory was made, before TRUNCATE.
        home = pipeline.storage / CHECKPOINTS / "spark_catalog/default/rows/first"
        (home / "2").mkdir()
        found = pipeline.judge("first", 2)
        pipeline.put("a", "a3")
        pipeline.run()
        shown = compare(["a1", "a2", "a3"], pipeline.rows(bench))
        return Shown(healthy=healthy, findings=found, difference=shown)


def _renamed_files(bench: Bench) -> Shown:
    with PipelineServer(bench.place / "server") as server:
        pipeline = Pipeline(server=server, project=bench.place / "project")
        pipeline.deploy(first="a")
        for row in ("a1", "a2", "a3"):
            pipeline.put("a", row)
            pipeline.run()
        healthy = pipeline.judge("first")
        pipeline.deploy(primary="a")
        pipeline.run()
        found = pipeline.judge("primary")
        pipeline.put("a", "a4")
        pipeline.run()
        shown = compare(["a1", "a2", "a3", "a4"], pipeline.rows(bench))
        return Shown(healthy=healthy, findings=found, difference=shown)


SITUATIONS = (
    Situation(name="declarative-shared-file-table", code="HF901", make=_shared),
    Situation(name="declarative-refresh-cut-off", code="HF903", make=_refreshed),
    Situation(name="declarative-flow-renamed-files", code="HF906", make=_renamed_files),
)
