"""The history of real plain streams: one that is stopped, and one that is killed, in one log."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import obstore
import pytest

from holdfast.evidence.case import Case
from holdfast.evidence.event_log import say_incomplete
from holdfast.formats.event_log.history import EventLogHistory, RunEnding
from holdfast.formats.event_log.read import read_event_log
from holdfast.reading import diagnose
from holdfast.storage.options import from_hadoop
from lab import S3
from lab.spark import environment
from tests.event_logs import recorded

_ROOT = Path(__file__).parents[2]


def run(place: Path, way: str) -> dict[str, Any]:
    """Run two batches of a stream under an event log; return what Spark said."""
    events = place.parent / "events"
    events.mkdir(parents=True, exist_ok=True)
    settings = {"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{events}"}
    variables = environment(place.parent / f"spark-{way}", settings, log_level="off")
    program = [sys.executable, "-m", "fixtures.event_log_query", str(place), "stateless", way, "2"]
    said: dict[str, Any] = {}
    with subprocess.Popen(
        program,
        cwd=_ROOT,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            said.update(json.loads(line))
            if said["what"] == "ran" and way == "killed":
                os.killpg(process.pid, signal.SIGKILL)
    return said


def history(case: Case) -> EventLogHistory:
    """Return what the log told."""
    assert isinstance(case.event_log, EventLogHistory)
    return case.event_log


@pytest.mark.timeout(240)
def test_two_streams_in_one_log_and_the_later_one_took_over_the_name(tmp_path: Path) -> None:
    stopped, killed = tmp_path / "stopped", tmp_path / "killed"
    told = run(stopped, "stopped"), run(killed, "killed")
    events = str(tmp_path / "events")

    found = diagnose(str(stopped / "checkpoint"), event_log=events)
    (first,) = history(found.case).runs
    assert (first.run_id, first.ending) == (told[0]["run_id"], RunEnding.ENDED)
    assert say_incomplete(history(found.case), 1) == ()
    assert "HF122" in [each.code for each in found.findings]

    found = diagnose(str(killed / "checkpoint"), event_log=events)
    (second,) = history(found.case).runs
    assert (second.run_id, second.ending) == (told[1]["run_id"], RunEnding.NOT_IN_LOG)
    assert any("killed" in each for each in say_incomplete(history(found.case), 1))
    assert "HF122" not in [each.code for each in found.findings]
    told_batches = {each["batchId"] for each in told[1]["batches"]}
    assert {each.batch_id for each in history(found.case).batches} == told_batches


@pytest.mark.parametrize("name", ["3.5-stopped", "4.2-killed"])
def test_a_log_in_a_bucket_and_one_file_of_it(name: str, s3: S3) -> None:
    log, prefix = recorded(name), f"events-{uuid.uuid4().hex}"
    for file in (each for each in log.events.rglob("*") if each.is_file()):
        obstore.put(s3.store(), f"{prefix}/{file.relative_to(log.events)}", file.read_bytes())
    options = from_hadoop(s3.spark_settings(), bucket="lake")
    one = f"{prefix}/{log.file.relative_to(log.events)}"
    for place in (prefix, one):
        found = read_event_log(f"s3a://lake/{place}", query_id=log.query_id, options=options)
        assert [each.run_id for each in found.runs] == [log.answers["run_id"]]
        assert found.batch_count == len(log.answers["batches"])
        assert found.unread == ()
