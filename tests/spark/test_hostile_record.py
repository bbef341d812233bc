"""Forged records on real Spark and PostgreSQL: refused before anything is written, and repaired."""

from __future__ import annotations

import json
import logging
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import holdfast as hf
from holdfast import points
from holdfast.record.documents import RecordError
from holdfast.sinks.postgres.sink import Postgres as PostgresSink
from tests.spark.file_stream import Stream

ROWS = ["row 0", "row 1", "row 2"]
ESCAPE = "evil\x1b[31m"


class KilledError(Exception):
    """Stands for a kill: nothing after it is done."""


def forge(stream: Stream, origin: str, path: str, **changes: Any) -> None:
    """Put a copy of a file of the record at another path, with other values."""
    record = stream.root / "_holdfast/readings"
    found = json.loads((record / origin).read_text())
    (record / path).write_text(json.dumps({**found, **changes}))


def generation_elsewhere(stream: Stream) -> None:
    changes = {"number": 2, "checkpoint": str(stream.root.parent / "victim/.ssh")}
    forge(stream, "generations/0001.json", "generations/0002.json", **changes)


def epoch_far_above(stream: Stream) -> None:
    forge(stream, "leases/000001.json", f"leases/{2**21 - 2}.json", epoch=2**21 - 2)


def epoch_beyond(stream: Stream) -> None:
    forge(stream, "leases/000001.json", f"leases/{2**63 - 2}.json", epoch=2**63 - 2)


def endless_lease(stream: Stream) -> None:
    owner = {"host": ESCAPE, "pid": 1}
    changes = {"epoch": 2, "term_s": 1e300, "released": False, "owner": owner}
    forge(stream, "leases/000001.json", "leases/000002.json", **changes)


def leases_file(stream: Stream) -> None:
    leases = stream.root / "_holdfast/readings/leases"
    leases.rename(stream.root.parent / "kept")
    leases.write_text("a file")


FORGED: dict[str, tuple[Callable[[Stream], None], str]] = {
    "a generation elsewhere": (generation_elsewhere, "RECORD"),
    "an epoch far above the sink's": (epoch_far_above, "EPOCH_JUMP"),
    "an epoch beyond every sink": (epoch_beyond, "EPOCH_JUMP"),
    "a lease for ever, with escapes": (endless_lease, "RECORD"),
    "a file in the place of the leases": (leases_file, "RECORD"),
}


def files_in(directory: Path) -> dict[str, bytes]:
    paths = [path for path in directory.rglob("*") if path.is_file()]
    return {str(path.relative_to(directory)): path.read_bytes() for path in paths}


def run_repair(error: RecordError) -> None:
    """Run the command that the message gives."""
    assert error.repair in str(error)
    subprocess.run(["sh", "-c", error.repair], check=True, timeout=10)


@pytest.mark.parametrize(("forged", "code"), FORGED.values(), ids=list(FORGED))
def test_a_forged_record_writes_nothing_and_is_repaired_by_what_the_message_says(
    stream: Stream, forged: Callable[[Stream], None], code: str
) -> None:
    stream.run()
    stream.add(3)
    forged(stream)
    before = files_in(stream.root.parent)
    with pytest.raises(RecordError) as refused:
        stream.run()
    assert refused.value.code == code
    assert "\x1b" not in str(refused.value)
    assert files_in(stream.root.parent) == before
    assert stream.rows() == ROWS
    run_repair(refused.value)
    stream.run()
    assert stream.rows() == [*ROWS, "row 3"]


def test_rows_that_lead_elsewhere_reach_no_sink(
    stream: Stream, caplog: pytest.LogCaptureFixture
) -> None:
    """The batch is written down for two sinks, and killed before the second has it."""
    stream.execute("CREATE TABLE others (value text)")
    secret = stream.root.parent / "secret"
    stream.spark.createDataFrame([("stolen",)], "value string").write.parquet(str(secret))

    def run() -> None:
        others = PostgresSink(lambda: stream.dsn, table="others")
        stream.run(df=marked(stream), into=[stream.sink(), others])

    def die_between_sinks(point: str) -> None:
        if point == "sink-written":
            points.listen(None)
            raise KilledError

    points.listen(die_between_sinks)
    with pytest.raises(StreamingQueryException):
        run()
    (kept,) = (stream.root / "_holdfast/readings/batches").glob("*.json")
    text = kept.read_text()
    kept.write_text(json.dumps({**json.loads(text), "rows": "../../../secret"}))
    with caplog.at_level(logging.ERROR), pytest.raises(StreamingQueryException):
        run()
    assert "It names the rows ../../../secret" in caplog.text
    assert (len(stream.rows()), rows_of_others(stream)) == (1, [])
    kept.write_text(text)  # as from a backup: the second sink gets what the first has
    run()
    assert sorted(stream.rows()) == sorted(rows_of_others(stream))
    assert [row[:5] for row in stream.rows()] == ROWS


def test_a_broken_run_stops_no_start_and_makes_no_sink_a_new_one(
    stream: Stream, caplog: pytest.LogCaptureFixture
) -> None:
    stream.run()
    (run,) = (stream.root / "_holdfast/readings/runs").iterdir()
    run.write_text("{")
    stream.execute("CREATE TABLE others (value text)")
    others = PostgresSink(lambda: stream.dsn, table="others")
    with pytest.raises(hf.StartRefusedError) as refused:
        stream.run(into=[stream.sink(), others])
    assert [finding.code for finding in refused.value.findings] == ["HF601"]
    assert "the contract of the last run is unknown" in caplog.text
    stream.add(3)
    stream.run()
    assert stream.rows() == [*ROWS, "row 3"]


def test_a_refused_first_start_creates_nothing_but_its_lease(stream: Stream) -> None:
    """As when the table has rows of a stream of this name, from another root."""
    stream.run()
    stream.root = stream.root.parent / "elsewhere"
    with pytest.raises(hf.StartRefusedError):
        stream.run()
    assert list(files_in(stream.root)) == ["_holdfast/readings/leases/000002.json"]


def marked(stream: Stream) -> DataFrame:
    """Rows that come out differently whenever they are computed."""
    return stream.source.select(F.concat("value", F.lit(" "), F.expr("uuid()")).alias("value"))


def rows_of_others(stream: Stream) -> list[str]:
    with psycopg.connect(stream.dsn) as connection:
        return [row[0] for row in connection.execute("SELECT value FROM others ORDER BY 1")]
