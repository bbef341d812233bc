"""What a step does is one sentence."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.apply.steps.table import describe
from holdfast.ledger.output import EmptyOutput, KeepOutput, Output, RestoreOutput
from holdfast.plan.steps import (
    CopyTree,
    FillTree,
    HoldTree,
    PutFile,
    RemoveFile,
    RemoveTree,
    RestoreFile,
    RowValue,
    SettleSink,
    Step,
)
from holdfast.record.contracts import SinkContract

OF: dict[str, Any] = {"stream": "readings", "why": ""}
FILE: dict[str, Any] = {**OF, "place": "/lake/readings", "path": "offsets/3"}
TREE: dict[str, Any] = {**OF, "source": "/lake/readings", "target": "/lake/two"}
SHA = "0" * 64
HELD: dict[str, Any] = {**OF, "place": "/lake/readings", "fingerprint": SHA}
HOLD: dict[str, Any] = {**HELD, "aside": "/kept/1", "size_bytes": 1}


def settle(output: Output, batch: int, kind: str = "postgres") -> SettleSink:
    row = RowValue(
        sink="table",
        generation=2,
        epoch=0,
        nonce="",
        query_id="",
        checkpoint="",
        last_batch=batch,
        digest=None,
        end_offsets="{}",
    )
    sink = SinkContract(kind=kind, label="table", place="p")
    return SettleSink(**OF, sink=sink, old=None, new=row, output=output)


@pytest.mark.parametrize(
    ("step", "told"),
    [
        (PutFile(**FILE, content=""), "Create readings/offsets/3"),
        (PutFile(**FILE, content="", replaces=SHA), "Replace (a copy is kept) readings/offsets/3"),
        (RemoveFile(**FILE, sha256=SHA), "Remove (a copy is kept) readings/offsets/3"),
        (RestoreFile(**FILE, kept="k", sha256=SHA), "Put back readings/offsets/3"),
        (
            PutFile(**{**FILE, "place": "/r/_holdfast/readings", "path": "a"}, content=""),
            "Create _holdfast/readings/a",
        ),
        (
            CopyTree(**TREE, fingerprint=SHA, files=22_000, size_bytes=1),
            "Copy 22,000 files from /lake/readings to /lake/two",
        ),
        (RemoveTree(**TREE, fingerprint=SHA), "Remove the copy /lake/two"),
        (
            settle(KeepOutput(), 3),
            "Keep the rows of table; set its ledger row to generation 2, batch 3",
        ),
        (
            settle(EmptyOutput(kept="holdfast.kept_1"), -1),
            "Empty table (its rows are kept: holdfast.kept_1); set its ledger row to generation 2, "
            "no batch yet",
        ),
        (
            settle(RestoreOutput(kept="7", aside="8"), 3),
            "Put the rows of table back from 7; set its ledger row to generation 2, batch 3",
        ),
        (
            settle(EmptyOutput(kept="6"), -1, "plain-delta"),
            "Empty the table table (its rows are kept: version 6)",
        ),
        (
            settle(RestoreOutput(kept="7", aside="8"), 3, "plain-delta"),
            "Put the rows of the table table back from version 7",
        ),
        (
            settle(EmptyOutput(kept="holdfast.kept_1"), -1, "plain-postgres"),
            "Empty the table table (its rows are kept: holdfast.kept_1)",
        ),
        (FillTree(**HELD, contents={"metadata": ""}), "Put 1 file into /lake/readings"),
        (HoldTree(**HOLD, files=0), "Hold /lake/readings, which has no files"),
        (
            HoldTree(**HOLD, files=1),
            "Keep the 1 file of /lake/readings in /kept/1, and empty it",
        ),
    ],
)
def test_each_step_is_told(step: Step, told: str) -> None:
    assert describe(step) == told
