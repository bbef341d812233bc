"""A plan is carried out through the server only if a person approved exactly this plan."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from holdfast import clock
from holdfast.apply.approval import (
    KEY_VARIABLE,
    LIFETIME,
    ApprovalError,
    check_approval,
    make_approval,
    read_key,
    read_or_make_key,
)
from holdfast.cli.main import run_command
from holdfast.errors import ConfigError
from holdfast.plan.plan_file import Plan
from holdfast.repairing import read_plan
from tests.docs.repair_root import STREAM, make_root
from tests.house.repository import ROOT
from tests.unit.cli.mcp_server.talking import Answered, Talk, snapshot, talk

KEY = bytes(range(32))
DIGEST = re.compile(r"The digest: ([0-9a-f]+-[0-9a-f]{24})")


@pytest.fixture
def srv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    monkeypatch.setenv(KEY_VARIABLE, str(tmp_path / "keys/approval.key"))
    (tmp_path / "srv").mkdir()
    make_root(tmp_path / "srv")
    return tmp_path / "srv"


def write_plan(srv: Path, file: Path, *, name: str = "before") -> Plan:
    streams = str(srv / "streams")
    words = ["plan", "snapshot", STREAM, "--root", streams, "--name", name, "-o", str(file)]
    assert run_command(words) == 0
    return read_plan(file)


def approve_at_terminal(file: Path, *, typed: str) -> str:
    """Run `holdfast apply FILE --approve` in a real terminal; return what it shows."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "holdfast", "apply", str(file), "--approve"]
    paths = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    running = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=paths)
    os.close(theirs)
    os.write(ours, f"{typed}\n".encode())
    shown = b""
    while True:
        try:
            piece = os.read(ours, 4_096)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    running.wait()
    os.close(ours)
    return shown.decode()


def test_a_person_approves_and_the_server_carries_out_this_plan_and_no_other(
    srv: Path, tmp_path: Path
) -> None:
    file, other, outside = srv / "plan.json", srv / "other.json", tmp_path / "plan.json"
    write_plan(srv, file)
    write_plan(srv, other, name="another")
    outside.write_bytes(file.read_bytes())
    shown = approve_at_terminal(file, typed=STREAM)
    found = DIGEST.search(shown)
    assert found is not None, shown
    assert f"type the name of its stream ({STREAM})" in shown
    digest = found[1]
    forged = digest[:-1] + ("1" if digest.endswith("0") else "0")
    before = snapshot(srv)
    env = {KEY_VARIABLE: os.environ[KEY_VARIABLE]}

    async def refused(client: Talk) -> list[Answered]:
        return [
            await client.call("apply", plan=str(file)),
            await client.call("apply", plan=str(file), digest=forged),
            await client.call("apply", plan=str(other), digest=digest),
            await client.call(
                "apply", plan=str(file), digest=digest, allow=[f"destructive:{STREAM}"]
            ),
            await client.call("apply", plan=str(outside), digest=digest),
        ]

    answers = talk(["--root", str(srv), "--allow-apply"], refused, env=env)
    codes = [each.answer["code"] for each in answers]
    assert codes == ["APPROVAL", "APPROVAL", "APPROVAL", "APPROVAL", "OUTSIDE_ROOTS"]
    assert snapshot(srv) == before

    async def apply(client: Talk) -> tuple[list[bool], Answered, Answered]:
        tools = [each.is_destructive for each in await client.tools() if each.name == "apply"]
        first = await client.call("apply", plan=str(file), digest=digest)
        return tools, first, await client.call("apply", plan=str(file), digest=digest)

    tools, done, again = talk(["--root", str(srv), "--allow-apply"], apply, env=env, writes=True)
    assert tools == [True]
    assert not done.is_error, done.text
    assert done.answer["format"] == "holdfast.applied"
    assert list((srv / "streams/_holdfast" / STREAM).rglob("snapshots/**/metadata"))
    assert again.answer["code"] == "JOURNAL"


def test_without_the_right_name_nothing_is_approved(srv: Path) -> None:
    write_plan(srv, srv / "plan.json")
    shown = approve_at_terminal(srv / "plan.json", typed="yes")
    assert "The plan is not approved" in shown
    assert not DIGEST.search(shown)
    assert read_key() is None


def test_a_program_without_a_terminal_cannot_approve(
    srv: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_plan(srv, srv / "plan.json")
    assert run_command(["apply", str(srv / "plan.json"), "--approve"]) == 2
    assert "run it in a terminal" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--execute"], ["--continue"], ["--format", "json"]])
def test_to_approve_is_not_to_carry_out(srv: Path, words: list[str]) -> None:
    write_plan(srv, srv / "plan.json")
    assert run_command(["apply", str(srv / "plan.json"), "--approve", *words]) == 2


@pytest.fixture
def plan(srv: Path) -> Plan:
    return write_plan(srv, srv / "plan.json")


def test_a_digest_is_of_the_plan_the_permissions_and_the_key(plan: Plan, srv: Path) -> None:
    digest = make_approval(plan, ["destructive:readings"], KEY)
    check_approval(plan, ["destructive:readings"], digest, key=KEY)
    check_approval(plan, ["destructive:readings"], f" {digest}\n", key=KEY)
    other = write_plan(srv, srv / "other.json", name="other")
    for changed, allowed, key in (
        (other, ["destructive:readings"], KEY),
        (plan, [], KEY),
        (plan, ["destructive:readings", "unguarded:readings"], KEY),
        (plan, ["destructive:readings"], KEY[::-1]),
    ):
        with pytest.raises(ApprovalError, match="not one of this plan"):
            check_approval(changed, allowed, digest, key=key)


@pytest.mark.parametrize(
    "given", ["", "  ", "-", "x-1", "1", "fffffffffffff-1", "\u0661-2", "0-" + "0" * 24]
)
def test_what_is_no_digest_is_refused(plan: Plan, given: str) -> None:
    with pytest.raises(ApprovalError):
        check_approval(plan, [], given, key=KEY)


def test_an_approval_expires(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    digest = make_approval(plan, [], KEY)
    now = datetime.now(tz=UTC)
    for moved in (LIFETIME + timedelta(minutes=3), -timedelta(minutes=8)):
        monkeypatch.setattr(clock, "now", lambda moved=moved: now + moved)
        with pytest.raises(ApprovalError, match="has expired"):
            check_approval(plan, [], digest, key=KEY)


def test_the_key_is_made_once_and_only_its_account_can_read_it(srv: Path) -> None:
    assert read_key() is None
    key = read_or_make_key()
    assert (len(key), read_or_make_key(), read_key()) == (32, key, key)
    file = Path(os.environ[KEY_VARIABLE])
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        read_key()
    file.chmod(0o600)
    file.write_bytes(b"short")
    with pytest.raises(ConfigError, match="is not an approval key"):
        read_key()
    assert srv.exists()
