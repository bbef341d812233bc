"""The verdict on a restart: what could not be seen is never safe."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from holdfast.apply.apply import apply_plan
from holdfast.apply.stores import Stores
from holdfast.evidence.outputs.output import Output
from holdfast.judgement import outputs
from holdfast.judgement.case import DiagnoseRequest, collect_case
from holdfast.judgement.judge import Judgement, Verdict, judge
from holdfast.judgement.outputs import read_output
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import Plan
from holdfast.plan.requests import Request
from holdfast.record.contracts import SinkContract
from holdfast.sources.kafka.found import KafkaSource
from holdfast.sources.probe import SourceProbe
from tests.unit.apply.quiet import quieten
from tests.unit.cli.guarding import PLACE, Guarded
from tests.unit.cli.inspecting import unpack

_OTHER = "11110000-0000-4000-8000-000000000000"


def _table(place: Path, *, application: str | None, batch: int = 7) -> Path:
    """Make a Delta table with one commit, of a streaming query or of nobody."""
    info = {"operation": "WRITE", "timestamp": 4_000_000_000_000}
    info |= {"operationMetrics": {"numOutputRows": "3"}}
    actions: list[dict[str, object]] = [{"commitInfo": info}, {"metaData": {"id": "t"}}]
    if application is not None:
        actions.append({"txn": {"appId": application, "version": batch}})
    log = place / "_delta_log"
    log.mkdir(parents=True)
    text = "\n".join(map(json.dumps, actions))
    (log / f"{0:020}.json").write_text(text, encoding="utf-8")
    return place


def _diagnose(checkpoint: Path, sink: Path) -> Judgement:
    looks = DiagnoseRequest(location=str(checkpoint), sinks=(str(sink),))
    return judge(collect_case(looks))


def test_a_table_that_only_another_query_writes_is_not_taken_for_the_sink(tmp_path: Path) -> None:
    checkpoint = unpack("4.2-stateless", tmp_path)
    found = _diagnose(checkpoint, _table(tmp_path / "gold", application=_OTHER))
    assert found.verdict is Verdict.UNKNOWN
    assert "holds no batch of this query" in found.not_judged[0]


def test_a_table_that_is_written_without_batch_numbers_can_be_the_sink(tmp_path: Path) -> None:
    checkpoint = unpack("4.2-stateless", tmp_path)
    found = _diagnose(checkpoint, _table(tmp_path / "gold", application=None))
    assert found.verdict is Verdict.SAFE


def test_a_pending_batch_is_told_although_a_wrong_table_is_named(tmp_path: Path) -> None:
    checkpoint = unpack("4.2-pending", tmp_path)
    found = _diagnose(checkpoint, _table(tmp_path / "gold", application=_OTHER))
    assert found.verdict is Verdict.REPEATS


def _while_read(monkeypatch: pytest.MonkeyPatch, do: Callable[[], None], *, times: int) -> None:
    """Do something each time that a sink is about to be read, as a running query does."""
    left = iter(range(times))

    def doing(location: str, options: dict[str, str]) -> Output:
        if next(left, None) is not None:
            do()
        return read_output(location, options)

    monkeypatch.setattr(outputs, "read_output", doing)


@pytest.mark.parametrize(("times", "expected"), [(1, "safe"), (9, "not-known")])
def test_a_query_that_runs_while_it_is_looked_at_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, times: int, expected: str
) -> None:
    checkpoint = unpack("4.2-stateless", tmp_path)
    query_id = json.loads((checkpoint / "metadata").read_text())["id"]
    sink = tmp_path / "gold"

    def run_batch() -> None:
        batch = max(int(each.name) for each in (checkpoint / "commits").glob("[0-9]*"))
        for log in ("offsets", "commits"):
            shutil.copy(checkpoint / log / str(batch), checkpoint / log / str(batch + 1))
            sidecars = (checkpoint / log / f".{each}.crc" for each in (batch, batch + 1))
            shutil.copy(*sidecars)
        shutil.rmtree(sink, ignore_errors=True)
        _table(sink, application=query_id, batch=batch + 1)

    _while_read(monkeypatch, run_batch, times=times)
    found = _diagnose(checkpoint, sink)
    assert found.verdict == expected


@pytest.mark.parametrize("places", [(), (PLACE,)])
def test_a_guarded_stream_whose_ledgers_are_not_seen_is_not_safe(
    tmp_path: Path, places: tuple[SinkContract, ...]
) -> None:
    stream = Guarded(tmp_path)
    stream.run(*places)
    found = judge(collect_case(DiagnoseRequest(location=str(stream.checkpoint))))
    assert found.verdict is Verdict.UNKNOWN
    assert found.not_judged[0].startswith("the ledger")
    assert len(set(found.not_judged)) == len(found.not_judged), "each is told once"


def test_a_guarded_stream_without_any_run_is_not_safe(tmp_path: Path) -> None:
    stream = Guarded(tmp_path)
    found = judge(collect_case(DiagnoseRequest(location=str(stream.checkpoint))))
    assert found.verdict is Verdict.UNKNOWN


def test_topic_ids_that_cannot_be_read_make_a_safe_verdict_unknown(tmp_path: Path) -> None:
    checkpoint = unpack("4.2-stateless", tmp_path)
    case = collect_case(DiagnoseRequest(location=str(checkpoint)))
    assert judge(case).verdict is Verdict.SAFE
    broken = KafkaSource(display_name="kafka sensors", ids_unread="runs/000004-a.json is not JSON.")
    probe = SourceProbe(source="0", display_name="kafka sensors", found=broken)
    found = judge(replace(case, sources=(probe,)))
    assert found.verdict is Verdict.UNKNOWN
    assert (
        "the topic ids of the last run, for source 0: runs/000004-a.json is not JSON."
        in found.not_judged
    )


def test_a_needed_entry_without_a_checksum_beside_others_with_one_is_not_called_safe(
    tmp_path: Path,
) -> None:
    checkpoint = unpack("4.2-stateless", tmp_path)
    assert _alone(checkpoint).verdict == "safe"
    newest = max(int(each.name) for each in (checkpoint / "offsets").glob("[0-9]*"))
    (checkpoint / "offsets" / f".{newest}.crc").unlink()
    found = _alone(checkpoint)
    assert found.verdict == "not-known"
    assert [each for each in found.not_judged if each.startswith(f"offsets/{newest}: ")]
    for each in checkpoint.rglob(".*.crc"):
        each.unlink()
    assert _alone(checkpoint).verdict == "safe"


def test_an_entry_that_a_repair_wrote_needs_no_checksum(tmp_path: Path) -> None:
    """The journal has its bytes; once somebody edits it, nothing vouches for it."""
    checkpoint = unpack("4.2-stateless", tmp_path)
    quieten(tmp_path)
    request = Request(goal="replay", output="keep", batches=2)
    plan = make_plan(request, DiagnoseRequest(location=str(checkpoint)))
    assert isinstance(plan, Plan), plan
    apply_plan(plan, Stores(), allowed=plan.words)
    assert not (checkpoint / "offsets" / ".1.crc").exists()
    assert not [each for each in _alone(checkpoint).not_judged if "checksum" in each]
    entry = checkpoint / "offsets" / "1"
    entry.write_bytes(entry.read_bytes() + b"\n")
    assert [each for each in _alone(checkpoint).not_judged if each.startswith("offsets/1: ")]


def _alone(checkpoint: Path) -> Judgement:
    return judge(collect_case(DiagnoseRequest(location=str(checkpoint))))
