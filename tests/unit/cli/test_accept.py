"""`holdfast accept`: a refusal is passed without a change of code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from holdfast.cli.main import holdfast
from holdfast.record.acceptances import is_granted
from holdfast.record.leases import take_lease
from holdfast.record.owner import this_process
from holdfast.storage.write import open_writer


@pytest.fixture
def root(tmp_path: Path) -> Path:
    take_lease(open_writer(str(tmp_path / "_holdfast/readings")), this_process())
    return tmp_path


def accept(root: Path, *arguments: str) -> str:
    result = CliRunner().invoke(
        holdfast, ["accept", *arguments, "--root", str(root)], catch_exceptions=True
    )
    return f"{result.output}{result.exception or ''}"


def test_what_is_accepted_is_found_by_the_next_start(root: Path) -> None:
    said = accept(root, "readings", "HF610:7c1f", "HF611:02ab")
    expected = "If readings is refused with HF610:7c1f, HF611:02ab, its next start goes on, once."
    assert said == f"{expected}\n"
    record = open_writer(str(root / "_holdfast/readings"))
    assert is_granted(record, "HF610", "7c1f")
    assert is_granted(record, "HF611", "02ab")
    assert not is_granted(record, "HF610", "02ab")


def test_accepting_again_changes_nothing(root: Path) -> None:
    accept(root, "readings", "HF610:7c1f")
    assert "once" in accept(root, "readings", "HF610:7c1f")


def test_agents_get_json(root: Path) -> None:
    told = json.loads(accept(root, "readings", "HF610:7c1f", "--format", "json"))
    assert (told["format"], told["version"], told["accepted"]) == (
        "holdfast.accept",
        1,
        ["HF610:7c1f"],
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("orders", "HF610:7c1f"), "has no stream orders"),
        (("readings", "HF610"), "CODE:NONCE"),
        (("readings", "HF610:7c1f", "HF610:02ab"), "given twice"),
        (("../readings", "HF610:7c1f"), "is not one"),
    ],
)
def test_what_is_not_a_refusal_of_the_stream_is_said(
    root: Path, arguments: tuple[str, ...], says: str
) -> None:
    before = sorted(root.rglob("*"))
    assert says in accept(root, *arguments)
    assert sorted(root.rglob("*")) == before
