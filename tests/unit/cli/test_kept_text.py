"""What a plan keeps is said when it is done, with the command that removes it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from holdfast.cli.apply import run_plan
from holdfast.cli.kept_text import kept_lines
from holdfast.ledger.output import EmptyOutput, ExchangeOutput, KeepOutput, Output, RestoreOutput
from holdfast.plan.plan_file import Plan
from holdfast.plan.steps import PutFile, RowValue, SettleSink
from holdfast.record.contracts import SinkContract
from tests.unit.apply.plans import STREAM, make_root, plan_of

FIRST, SECOND = "holdfast.kept_1", "holdfast.kept_2"


def settle(output: Output, kind: str = "postgres") -> SettleSink:
    row = RowValue(
        sink="totals",
        generation=2,
        epoch=0,
        nonce="",
        query_id="",
        checkpoint="",
        last_batch=0,
        digest=None,
        end_offsets="{}",
    )
    sink = SinkContract(kind=kind, label="totals", place="p")
    return SettleSink(stream=STREAM, why="w", sink=sink, old=None, new=row, output=output)


def opened(root: Path) -> PutFile:
    place, path = str(root / "_holdfast" / STREAM), "generations/0002.json"
    return PutFile(stream=STREAM, why="w", place=place, path=path, content="{}")


def of(goal: str, root: Path, *steps: Any) -> Plan:
    return msgspec.structs.replace(plan_of(root, *steps), goal=goal)


@pytest.mark.parametrize(
    ("output", "tables"),
    [
        (EmptyOutput(kept=FIRST), {FIRST: "the rows that were taken out of totals"}),
        (
            RestoreOutput(kept=FIRST, aside=SECOND),
            {
                SECOND: "the rows that were taken out of totals",
                FIRST: "a copy of the rows that are in totals again",
            },
        ),
        (
            ExchangeOutput(generation=2, kept=None, aside=SECOND, rows=3),
            {SECOND: "the rows that were taken out of totals"},
        ),
        (KeepOutput(), {}),
    ],
)
def test_each_kept_table_is_named_with_how_to_drop_it(
    output: Output, tables: dict[str, str], tmp_path: Path
) -> None:
    lines = list(kept_lines(of("undo", tmp_path, settle(output))))
    assert lines == [
        f"Kept: {table} has {what}. An undo needs it. To remove it when you no longer want to "
        f"undo: DROP TABLE IF EXISTS {table}"
        for table, what in tables.items()
    ]


def test_a_version_of_a_delta_table_is_no_table(tmp_path: Path) -> None:
    assert list(kept_lines(of("reset", tmp_path, settle(EmptyOutput(kept="7"), "delta")))) == []


@pytest.mark.parametrize("goal", ["reset", "rewind", "replay", "migrate"])
def test_the_checkpoint_of_before_is_named_with_the_command_that_deletes_it(
    goal: str, tmp_path: Path
) -> None:
    root = tmp_path / "my streams"
    (line,) = kept_lines(of(goal, root, opened(root)))
    prune = f"holdfast plan prune {STREAM} --root '{root}' --older-than 30 -o prune.json"
    assert line.endswith(f"To delete it when it is 30 days old: {prune}")


@pytest.mark.parametrize("goal", ["retire", "move", "clone", "undo"])
def test_what_leaves_no_checkpoint_names_none(goal: str, tmp_path: Path) -> None:
    assert list(kept_lines(of(goal, tmp_path, opened(tmp_path)))) == []


def test_it_is_said_before_the_command_that_undoes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = of("reset", make_root(tmp_path), opened(tmp_path))
    given: dict[str, Any] = dict.fromkeys(("storage_options", "allowed", "roots"), ())
    run_plan(plan, execute=True, kafka_config=None, form="text", **given)
    *_, kept, undo = capsys.readouterr().out.splitlines()
    assert kept.startswith("Kept: the old checkpoint of readings.")
    assert undo.startswith("Undo: ")
