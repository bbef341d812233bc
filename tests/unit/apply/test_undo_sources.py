"""Plain readers of a Delta table that gets its rows back: they go on after it, or are named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.apply.journal import Journal
from holdfast.apply.steps.kind import Undoing
from holdfast.apply.stores import Stores
from holdfast.apply.undo_sources import add_moves
from holdfast.ledger.output import RestoreOutput
from holdfast.plan.steps import FillTree, HoldTree, MoveSource, RowValue, SettleSink, Step
from holdfast.sinks.plain.sink import PlainDelta
from tests.unit.apply.plans import plan_of

TABLE = "9f4d0c55-7f0e-4f0b-8a0e-000000000001"
READER = "copies"
LAST = 2
"""The version of the table before the plan; its rows came with version 1."""


def make_table(home: Path) -> Path:
    log = home / "lake" / "orders" / "_delta_log"
    log.mkdir(parents=True)
    commits: list[list[dict[str, object]]] = [
        [{"metaData": {"id": TABLE, "schemaString": "{}"}}],
        [{"add": {"path": "a.parquet", "dataChange": True}}],
        [{"txn": {"appId": "q", "version": 1}}],  # a batch without rows
    ]
    for version, actions in enumerate(commits):
        text = "".join(f"{json.dumps(each, separators=(',', ':'))}\n" for each in actions)
        (log / f"{version:020}.json").write_text(text)
    return log.parent


def make_kept(home: Path, *, version: int, index: int, pending: bool, table: str) -> Path:
    kept = home / "cp" / "kept"
    offset = {"sourceVersion": 1, "reservoirId": table, "reservoirVersion": version}
    line = json.dumps({**offset, "index": index, "isStartingVersion": False})
    for path, content in (
        ("offsets/0", f"v1\n{{}}\n{line}"),
        *(() if pending else (("commits/0", "v1\n{}"),)),
    ):
        file = kept / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)
    return kept


def make_steps(home: Path, kept: Path) -> tuple[Step, ...]:
    """Return an undo as the steps of its plan follow from each other, the last one first."""
    row = RowValue(
        sink="orders",
        generation=2,
        epoch=0,
        nonce="",
        query_id="q",
        checkpoint=str(home / "cp" / "orders"),
        last_batch=-1,
        digest=None,
        end_offsets="{}",
    )
    place, digest = str(home / "cp" / READER), "0" * 64
    held = HoldTree(
        stream=READER,
        place=place,
        aside=str(home / "cp" / "aside"),
        fingerprint=digest,
        files=1,
        size_bytes=1,
        marker="metadata",
        why="w",
    )
    filled = FillTree(
        stream=READER,
        place=place,
        fingerprint=digest,
        source=str(kept),
        marker="metadata",
        why="w",
    )
    sink = PlainDelta(path=str(home / "lake" / "orders")).describe()
    output = RestoreOutput(kept=str(LAST), aside="5")
    settled = SettleSink(stream="orders", sink=sink, old=row, new=row, output=output, why="w")
    return filled, settled, held


@pytest.mark.parametrize(
    ("version", "index", "pending", "table", "outcome"),
    [
        (LAST + 1, -1, False, TABLE, "moves"),
        (LAST, -1, False, TABLE, "moves"),  # what it has not read has no rows
        (1, -1, False, TABLE, "named"),
        (1, 0, False, TABLE, "named"),
        (LAST + 1, -1, True, TABLE, "named"),
        (LAST + 1, -1, False, "another", "neither"),
    ],
)
def test_a_reader_goes_on_if_it_had_read_everything(
    tmp_path: Path, *, version: int, index: int, pending: bool, table: str, outcome: str
) -> None:
    make_table(tmp_path)
    kept = make_kept(tmp_path, version=version, index=index, pending=pending, table=table)
    steps, stores = make_steps(tmp_path, kept), Stores()
    plan = plan_of(tmp_path, *steps)
    journal = Journal(stores.at(str(tmp_path)), plan)
    undoing = Undoing(plan=plan, stores=stores, journal=journal, plan_id="p", opened={})

    found = add_moves(steps, undoing)

    filled, settled, held = steps
    moves = [each for each in found.steps if isinstance(each, MoveSource)]
    assert found.steps[:3] == (held, settled, filled)
    assert [each.path for each in moves] == (["offsets/0"] if outcome == "moves" else [])
    assert [each.word for each in found.needs] == (
        [f"by-hand:{READER}"] if outcome == "named" else []
    )
