"""The steps of a reset by hand: everything is kept, and what is on disk can be put back."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

from holdfast.record.documents import encode
from holdfast.record.leases import Lease
from holdfast.record.owner import this_process
from tests.house.repository import ROOT

BY_HAND = (ROOT / "docs/guides/reset.md").read_text().partition("\n## By hand\n")[2]
COMMANDS = re.findall(r"```(?:sh|sql|text)\n(.*?)```", BY_HAND, re.DOTALL)
NEEDS_A_SERVER = re.compile(r"\b(psql|aws|kafka-get-offsets\.sh|pipeline show|TABLE|FROM)\b")
ON_DISK = [command for command in COMMANDS if not NEEDS_A_SERVER.search(command)]


@pytest.fixture
def srv(tmp_path: Path) -> Path:
    """The place of the page, with the checkpoint of a file source, its files and its record."""
    with tarfile.open(ROOT / "tests/checkpoints/4.2-file-source.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    (tmp_path / "streams").mkdir()
    (tmp_path / "checkpoint").rename(tmp_path / "streams/readings")
    lease = Lease(epoch=3, owner=this_process(), token="t", nonce="n", taken_at="", released=True)
    path = tmp_path / "streams/_holdfast/readings" / lease.path
    path.parent.mkdir(parents=True)
    path.write_bytes(encode(lease))
    (tmp_path / "in").mkdir()
    return tmp_path


def files_in(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }


def follow(srv: Path, *commands: str) -> str:
    """Run commands of the page in one shell, and return what they print."""
    script = "\n".join(commands).replace("/srv", str(srv))
    search = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, "PATH": search},
        check=True,
        capture_output=True,
        text=True,
    )
    assert not ran.stderr
    return ran.stdout


def test_the_steps_are_in_the_order_that_loses_nothing() -> None:
    steps = re.findall(r"^### \d+\. (.*)$", BY_HAND, re.MULTILINE)
    assert steps == [
        "Stop the stream and everything downstream",
        "Check that the source still has everything",
        "Keep the evidence",
        "Move the checkpoint aside",
        "Settle the output",
        "Set the starting position",
        "Do the same for every stream downstream",
        "Start",
        "Prove it",
        "Remove the old copies later",
    ]


def test_no_command_deletes_what_is_not_kept() -> None:
    for command in COMMANDS:
        assert not re.search(r"\b(rm|rmdir|DROP|TRUNCATE)\b", command), command
    (emptying,) = (command for command in COMMANDS if "DELETE" in command)
    assert emptying.index("CREATE TABLE") < emptying.index("count(*)") < emptying.index("DELETE")


def test_the_rules_lead_to_the_guide() -> None:
    for page in ("reference/rules.md", "reference/rules/HF606.md", "reference/rules/HF608.md"):
        assert "guides/reset.md" in (ROOT / "docs" / page).read_text()


def test_on_disk_everything_is_kept_and_can_be_put_back(srv: Path) -> None:
    lease, count, keep, move, undo = ON_DISK
    checkpoint, record = srv / "streams/readings", srv / "streams/_holdfast/readings"
    before, recorded = files_in(checkpoint), files_in(record)
    assert '"released": true' in follow(srv, lease)
    read, there = map(int, follow(srv, count).split())
    assert read > there == 0
    assert follow(srv, keep, move) == "identical\n"
    (kept,) = (srv / "kept").iterdir()
    assert not checkpoint.exists()
    assert files_in(kept / "checkpoint") == files_in(kept / "checkpoint-moved") == before
    assert files_in(kept / "record") == files_in(record) == recorded
    follow(srv, keep.splitlines()[0], undo)
    assert files_in(checkpoint) == before
