"""Every query of the logs that real Spark wrote, to choose one from."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.formats.event_log.queries import MOST_QUERIES, read_queries
from holdfast.formats.event_log.read import read_event_log
from tests.event_logs import NAMES, recorded

pytestmark = pytest.mark.unit

_CLASS = "org.apache.spark.sql.streaming.StreamingQueryListener$"


@pytest.mark.parametrize("name", NAMES)
def test_a_query_is_found_as_its_history_has_it(name: str) -> None:
    log = recorded(name)
    history = read_event_log(str(log.events), query_id=log.query_id)
    (found,) = (each for each in read_queries(str(log.events)) if each.query_id == history.query_id)
    newest, run = history.newest_batch, history.newest
    assert run is not None
    assert newest is not None
    assert (found.last_batch, found.last_at) == (newest.batch_id, newest.at)
    assert (found.sink, found.sources) == (run.sink, run.sources)
    assert (found.name, found.began_at, found.checkpoint) == (run.name, run.began_at, None)


def test_a_file_is_read_without_its_directory(tmp_path: Path) -> None:
    for name in ("a", "b"):
        _write(tmp_path / name, [_started(f"{name}-query")])
    assert [each.query_id for each in read_queries(str(tmp_path / "a"))] == ["a-query"]
    history = read_event_log(str(tmp_path / "a"), query_id="a-query")
    assert history.location == str(tmp_path / "a")


def test_the_queries_with_the_newest_events_are_kept(tmp_path: Path) -> None:
    ids = [f"query-{at}" for at in range(MOST_QUERIES + 2)]
    _write(tmp_path / "app", [_started(each) for each in [*ids, ids[2]]])
    found = [each.query_id for each in read_queries(str(tmp_path))]
    assert len(found) == MOST_QUERIES
    assert found[-1] == ids[2]
    assert ids[1] not in found


def test_what_was_recorded_names_the_checkpoint(tmp_path: Path) -> None:
    described = {"Event": "holdfast.QueryDescribed", "id": "q", "runId": "r"}
    described |= {"checkpoint": "s3a://lake/cp/orders", "outputMode": "append"}
    line = json.dumps(described, separators=(",", ":"))
    _write(tmp_path / "app", [_started("q"), line])
    (found,) = read_queries(str(tmp_path))
    assert (found.checkpoint, found.sink, found.last_batch) == ("s3a://lake/cp/orders", None, None)


def test_without_a_query_id_nothing_is_taken_for_the_query(tmp_path: Path) -> None:
    line = _started("q").replace('"name":null', '"name":"none"')
    _write(tmp_path / "app", [line, line.replace("QueryStartedEvent", "QueryIdleEvent")])
    history = read_event_log(str(tmp_path), query_id=None)
    assert (history.runs, [each.query_id for each in history.others]) == ((), ["q"])


def _started(query: str) -> str:
    event = {"Event": f"{_CLASS}QueryStartedEvent", "id": query, "runId": "r", "name": None}
    return json.dumps({**event, "timestamp": "2026-11-18T04:20:50.395Z"}, separators=(",", ":"))


def _write(file: Path, lines: list[str]) -> None:
    file.write_text("\n".join(lines) + "\n")
