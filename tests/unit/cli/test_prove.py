"""`holdfast prove`: what it prints, in both formats, and its exit codes; without Spark."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.cli import prove as command
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.prove_json import ProofJson
from holdfast.proof.values import Comparison, CounterExample, Fault, Proof, ProofVerdict, TableProof
from tests import calling

MODULE = """\
class Pipeline:
    name = "lake"
    show = None
    asked = None
    answer = None

    def prove(self, spark, *, only, root, began):
        self.asked = (spark, only, root, began)
        return self.answer

pipeline = Pipeline()
"""
Call = Callable[..., tuple[int, list[str]]]

ROW = {"topic": "t", "partition": 0, "offset": 7, "value": b"\x01\x02"}
RAW = TableProof(
    stream="raw",
    table="the Delta table s3a://lake/raw",
    compared=Comparison(expected=1_200, found=1_200),
    by=("topic", "partition", "offset"),
    last_batch=41,
    records=1_200,
)
GOLD = TableProof(
    stream="gold",
    table="the PostgreSQL table latest",
    compared=Comparison(expected=1, found=4),
    by=("sensor_id",),
    keys=("sensor_id",),
    sequence_by="event_time",
    last_batch=40,
    left_out=("3 keys that do not come from the source: other writers",),
)
AWAY = TableProof(
    stream="own",
    table="the function write",
    compared=None,
    reason="the function write gives no way to read its rows back",
)
BAD = TableProof(
    stream="typed",
    table="the Delta table s3a://lake/typed",
    compared=Comparison(
        expected=10,
        found=10,
        lost=1,
        duplicated=1,
        altered=1,
        examples=(
            CounterExample(fault=Fault.LOST, expected=ROW, found=None, expected_copies=1),
            CounterExample(
                fault=Fault.DUPLICATED,
                expected=ROW,
                found=ROW,
                expected_copies=1,
                found_copies=2,
            ),
            CounterExample(
                fault=Fault.ALTERED,
                expected={**ROW, "value": None},
                found={**ROW, "value": "x" * 99},
                expected_copies=1,
                found_copies=1,
            ),
        ),
    ),
    by=(),
    last_batch=3,
    next_step="Run: holdfast backfill MODULE:PIPELINE typed",
)


def proof(*tables: TableProof) -> Proof:
    return Proof(pipeline="lake", tables=tables)


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.setattr(command, "local_session", lambda _: "the session")
    with calling.importable(tmp_path, monkeypatch, name="proved_lake", text=MODULE):
        yield import_module("proved_lake").pipeline


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Call:
    def call_it(*arguments: str) -> tuple[int, list[str]]:
        code, out, _ = calling.call(capsys, "prove", *arguments)
        return code, out.splitlines()

    return call_it


@pytest.mark.parametrize(
    ("tables", "code", "first"),
    [
        (
            (RAW, GOLD),
            ExitCode.DONE,
            "Exact: 2 streams, 2 tables, 1,200 source offsets, 0 lost, 0 duplicated, 0 altered.",
        ),
        (
            (RAW, AWAY),
            ExitCode.NOT_JUDGED,
            "Not compared: 2 streams, 2 tables (1 not compared), 1,200 source offsets, 0 lost, "
            "0 duplicated, 0 altered.",
        ),
        (
            (RAW, AWAY, BAD),
            ExitCode.FOUND,
            "Not exact: 3 streams, 3 tables (1 not compared), 1,200 source offsets, 1 lost, "
            "1 duplicated, 1 altered.",
        ),
        (
            (),
            ExitCode.NOT_JUDGED,
            "Not compared: 0 streams, 0 tables, 0 lost, 0 duplicated, 0 altered.",
        ),
    ],
)
def test_the_first_line_and_the_exit_code_are_the_answer(
    call: Call, pipeline: Any, tables: tuple[TableProof, ...], *, code: int, first: str
) -> None:
    pipeline.answer = proof(*tables)
    found, lines = call("proved_lake:pipeline")
    assert (found, lines[0]) == (code, first)


def test_every_table_is_told_with_its_counter_examples(call: Call, pipeline: Any) -> None:
    pipeline.answer = proof(RAW, GOLD, BAD, AWAY)
    _, lines = call("proved_lake:pipeline")
    row = "topic=t, partition=0, offset=7, value="
    assert lines[1:] == [
        "  Delta table s3a://lake/raw    exact  1,200 rows, appended, compared by topic, partition "
        "and offset, up to batch 41",
        "  PostgreSQL table latest       exact  1 key, newest by event_time per sensor_id, up to "
        "batch 40",
        "  Delta table s3a://lake/typed  not exact  10 rows, appended, compared as whole rows, up "
        "to batch 3",
        "    1 lost, 1 duplicated, 1 altered",
        f"    lost: {row}0102",
        f"    duplicated: {row}0102  (2 times, must be 1)",
        f"    altered: {row}NULL  (found value={'x' * 59}…)",
        "  function write                not compared",
        "Not compared: the PostgreSQL table latest: 3 keys that do not come from the source: other "
        "writers",
        "Not compared: the function write: the function write gives no way to read its rows back",
        "Next, for the Delta table s3a://lake/typed: Run: holdfast backfill proved_lake:pipeline "
        "typed",
    ]


def test_json_says_the_same(call: Call, pipeline: Any) -> None:
    pipeline.answer = proof(GOLD, BAD, AWAY)
    code, lines = call("proved_lake:pipeline", "--format", "json")
    told = json.loads("\n".join(lines))
    assert code == ExitCode.FOUND
    assert (told["format"], told["version"]) == ("holdfast.prove", 2)
    assert (told["pipeline"], told["verdict"]) == ("lake", "not exact")
    answer = msgspec.convert(told, type=ProofJson)
    assert [each.verdict for each in answer.tables] == ["exact", "not exact", "not compared"]
    assert [each.altered for each in answer.tables] == [0, 1, None]
    assert answer.tables[1].examples[1].found_copies == 2
    steps = [each.next_step for each in answer.tables]
    assert steps == [None, "Run: holdfast backfill proved_lake:pipeline typed", None]
    assert len(answer.not_compared) == 2


def test_streams_and_root_are_passed_on(call: Call, pipeline: Any) -> None:
    pipeline.answer = proof(RAW)
    call("proved_lake:pipeline", "raw", "gold", "--root", "s3://copy")
    assert pipeline.asked == ("the session", ("raw", "gold"), "s3://copy", None)
    call("proved_lake:pipeline", "--from", "earliest")
    assert pipeline.asked == ("the session", None, None, "earliest")


@pytest.mark.parametrize("form", ["text", "json"])
def test_secrets_and_escape_codes_do_not_reach_the_terminal(
    call: Call, pipeline: Any, form: str
) -> None:
    secret = "postgresql://me:hunter2@db/x"
    row = {"a": secret, "b": "\x1b[31mred", "t": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)}
    example = CounterExample(fault=Fault.UNEXPECTED, expected=None, found=row, found_copies=1)
    table = TableProof(
        stream="raw",
        table="the table t",
        compared=Comparison(expected=0, found=1, unexpected=1, examples=(example,)),
        left_out=(secret,),
    )
    pipeline.answer = proof(table)
    _, lines = call("proved_lake:pipeline", "--format", form)
    assert "hunter2" not in "\n".join(lines)
    assert "\x1b" not in "\n".join(lines)
    assert "2026-01-01T00:00:00" in "\n".join(lines)
    if form == "text":
        assert lines[0].endswith("0 lost, 0 duplicated, 0 altered, 1 unexpected.")


def test_not_exact_is_worse_than_not_compared() -> None:
    assert proof(BAD, AWAY).verdict is ProofVerdict.NOT_EXACT
    assert not proof(RAW, AWAY).exact
    assert proof(RAW, GOLD).exact
