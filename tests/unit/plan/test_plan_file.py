"""A plan file goes there and back, and a hostile one touches nothing."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from holdfast.cli.allowed_words import check_words
from holdfast.errors import ConfigError
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.goal import Code
from holdfast.plan.make import plan_steps
from holdfast.plan.plan_file import PlanFileError, decode_plan, encode_plan
from holdfast.plan.remake import _essence
from holdfast.plan.requests import Request
from tests.unit.apply.plans import STREAM, apply, four_steps, look, make_root, plan_of


def raw_plan(root: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(encode_plan(plan_of(root, *four_steps(root))))
    return found


def refusal(changed: object) -> str:
    raw = changed if isinstance(changed, bytes) else json.dumps(changed).encode()
    with pytest.raises(PlanFileError) as refused:
        decode_plan(raw, "plan.json")
    assert refused.value.what == "plan.json was not applied; nothing was changed."
    return refused.value.why


def test_there_and_back(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, *four_steps(tmp_path))
    assert decode_plan(encode_plan(plan), "plan.json") == plan
    assert encode_plan(decode_plan(encode_plan(plan), "plan.json")) == encode_plan(plan)


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b"7", b'{"format": "holdfast.lease"}', b"\xff\xfe", b"[" * 100_000],
)
def test_what_is_no_plan_is_refused(raw: bytes) -> None:
    assert refusal(raw).startswith("It is not a plan")


@pytest.mark.parametrize("version", [2, 0, -1, "1", None, 1e300])
def test_another_version_is_refused(version: object, tmp_path: Path) -> None:
    why = refusal({**raw_plan(tmp_path), "version": version})
    assert why == "It is of a version that this Holdfast does not know."


@pytest.mark.parametrize(
    "path",
    ["../x", "a/../../x", "/etc/passwd", "a//b", "", "..", "offsets/..", "a/", "a\0b", "x" * 5000],
)
def test_a_path_outside_its_place_is_refused(path: str, tmp_path: Path) -> None:
    found = raw_plan(tmp_path)
    for step in found["steps"]:
        step["path"] = path
    refusal(found)


@pytest.mark.parametrize("name", ["place", "target", "source"])
@pytest.mark.parametrize(
    "place",
    [
        "/etc",
        "ROOT-other",
        "ROOT/../other",
        "ROOT/readings/../../other",
        "s3://bucket/x",
        "relative",
    ],
)
def test_a_place_outside_the_root_is_refused(name: str, place: str, tmp_path: Path) -> None:
    found = raw_plan(tmp_path)
    place = place.replace("ROOT", str(tmp_path))
    if name == "place":
        found["steps"][0]["place"] = place
    else:
        within = {"source": str(tmp_path / "a"), "target": str(tmp_path / "b")}
        copy = {"step": "copy-tree", "fingerprint": "0" * 64, "files": 1, "size_bytes": 1}
        found["steps"].append({**copy, **within, name: place, "stream": STREAM, "why": ""})
    refusal(found)


def test_what_a_journal_has_kept_is_read_below_the_record_only(tmp_path: Path) -> None:
    found = raw_plan(tmp_path)
    step = {"step": "restore-file", "sha256": "0" * 64, "stream": STREAM, "why": ""}
    step |= {"place": str(tmp_path / STREAM), "path": "a", "kept": "../../../etc/passwd"}
    found["steps"].append(step)
    refusal(found)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", [{"step": "run-command", "stream": STREAM, "why": ""}]),
        ("steps", [{"step": "remove-file", "stream": STREAM, "why": ""}]),
        ("steps", None),
        ("id", "../../x"),
        ("stream", "Not A Name"),
        ("goal", "re set"),
        ("preconditions", [{"holds": "nothing"}]),
        ("needs", [{"permission": "everything", "stream": STREAM, "why": ""}]),
    ],
)
def test_what_is_not_known_is_refused(name: str, value: object, tmp_path: Path) -> None:
    refusal({**raw_plan(tmp_path), name: value})


def test_a_link_out_of_the_root_is_not_followed(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root")
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / STREAM / "sources").symlink_to(outside)
    with pytest.raises(Exception, match="sources"):
        apply(plan_of(root, *four_steps(root)))
    assert look(outside, without=()) == {}


@pytest.mark.parametrize("stream", ["readings", "readings-backfill-7c1f04ab"])
def test_a_plan_beside_a_stream_changes_no_file_of_it(stream: str, tmp_path: Path) -> None:
    """It takes the lease of a backfill only: else a plan could go past the lease of the stream."""
    found = {**raw_plan(tmp_path), "stream": stream, "beside": "readings"}
    for step in found["steps"]:
        step["stream"] = stream
    assert "changes more than its rows" in refusal(found)


NAME = "readings-backfill-7c1f04ab"
SINK = {"kind": "delta", "place": "/raw", "label": "raw"}
RANGE = {"step": "write-range", "start": "{}", "end": "{}", "chunks": 2, "sinks": [SINK]}
ROW = {
    "sink": "raw",
    "generation": 1,
    "epoch": 1,
    "nonce": "n",
    "query_id": "q",
    "checkpoint": "/c",
    "last_batch": 0,
    "digest": None,
    "end_offsets": "{}",
}
SETTLED = {"step": "settle-sink", "sink": SINK, "old": None, "new": ROW}


def beside(root: Path, step: dict[str, Any]) -> dict[str, Any]:
    """Return a plan of one step beside the stream."""
    found = {**raw_plan(root), "stream": NAME, "beside": "readings"}
    return {**found, "steps": [{**step, "stream": NAME, "why": "w"}]}


def test_a_plan_beside_a_stream_settles_no_sink_and_deletes_no_tree(tmp_path: Path) -> None:
    decode_plan(json.dumps(beside(tmp_path, RANGE)).encode(), "plan.json")
    own = f"{tmp_path}/_holdfast/readings/backfills/{NAME}"
    discarded = {"step": "discard-tree", "place": own, "files": 1}
    for step in ({**SETTLED, "output": {"output": "keep"}}, discarded):
        assert "changes more than its rows" in refusal(beside(tmp_path, step))


def test_a_range_has_a_sink(tmp_path: Path) -> None:
    assert "sinks" in refusal(beside(tmp_path, {**RANGE, "sinks": []}))


def test_a_plan_beside_another_stream_is_another_plan(tmp_path: Path) -> None:
    plan = decode_plan(json.dumps(beside(tmp_path, RANGE)).encode(), "plan.json")
    assert _essence(plan) != _essence(msgspec.structs.replace(plan, beside="others"))


def test_a_root_that_the_pipeline_does_not_use_is_refused() -> None:
    code = Code(spark=cast("Any", None), pipeline=cast("Any", SimpleNamespace(root="/staging")))
    looks = DiagnoseRequest(location=STREAM, root="/production")
    with pytest.raises(ConfigError, match="in /staging, not in /production"):
        plan_steps(Request(goal="backfill", start="1", end="2"), looks, code)


def test_a_word_of_a_backfill_names_its_stream(tmp_path: Path) -> None:
    plan = decode_plan(json.dumps(beside(tmp_path, RANGE)).encode(), "plan.json")
    check_words(plan, {"skips-data:readings"})
    with pytest.raises(ConfigError, match="Did you mean --allow skips-data:readings"):
        check_words(plan, {f"skips-data:{NAME}"})
