"""Every command that a finding prints is run against its own case: a plan, or the foreseen reason.

A case of a rule is laid on disk: its checkpoint, and for a guarded stream the record with the
ledger rows. The command is the one that the finding prints, with the place on disk for the case's.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import msgspec
import pytest
from click.testing import CliRunner

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.main import holdfast
from holdfast.errors import HoldfastError
from holdfast.evidence.case import Case
from holdfast.evidence.outputs.delta import DeltaOutput
from holdfast.grades import Goal
from holdfast.ids import QueryId
from holdfast.judgement import probing
from holdfast.ledger.row import Binding, LedgerRow
from holdfast.plan import world
from holdfast.plan.plan_file import Plan, decode_plan
from holdfast.plan.world import SinkNow
from holdfast.record.contracts import Contract, SinkContract, keep_contract
from holdfast.record.documents import encode
from holdfast.record.layout import generation_name
from holdfast.record.runs import Run
from holdfast.rules import RULES, Rule
from holdfast.rules.rule import Finding
from holdfast.storage.location import parse_location
from holdfast.storage.write_local import LocalWriter
from holdfast.testing.case_form import QUERY_ID, ROOT, STREAM
from holdfast.testing.rule_cases import RuleCase, case_files, make_case, read_cases

CASES = Path(__file__).parent / "cases"
COMMAND = re.compile(r"`(holdfast plan [^`]+)`")
ON_PAGE = re.compile(r"^holdfast plan .*$", re.MULTILINE)
ELSEWHERE = "s3://elsewhere/checkpoint"
FORESEEN = {
    "HF418": "it is refused if the state of that batch is damaged",
    "HF419": "it is refused if the state of that batch is damaged",
    "HF420": "to a batch before",
    "HF603": "no longer has batch",
    "HF937": "says so if nothing is",
}
"""Commands that can end without a plan, and the words of the finding that say so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A command that a finding prints."""

    rule: Rule
    case: RuleCase
    command: str
    how: str

    def __str__(self) -> str:
        return f"{self.rule.code} {self.case.name}: {self.command.split()[2]}"


def find_offered() -> Iterator[Offered]:
    """Yield every command of every finding of every case."""
    for rule in RULES:
        path = CASES / f"{rule.code}.toml"
        for case in read_cases(path.read_text()) if path.exists() else ():
            for command, how in commands_of(rule, at(case, ELSEWHERE)):
                yield Offered(rule=rule, case=case, command=command, how=how)


def at(case: RuleCase, location: str) -> RuleCase:
    return msgspec.structs.replace(case, location=location) if case.is_bare else case


def commands_of(rule: Rule, case: RuleCase) -> list[tuple[str, str]]:
    return [
        (command, finding.how)
        for finding in rule.judge(make_case(case))
        for command in COMMAND.findall(finding.how)
    ]


OFFERED = list(find_offered())
WITH_PAGE = [rule for rule in RULES if ON_PAGE.search(rule.page)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a command has done."""

    code: int
    said: str
    plan: Plan | None


def run(command: str, place: Path) -> Ran:
    """Run a command as it was printed, with the place of the case on disk."""
    text = command.replace(ELSEWHERE, str(place / "checkpoint")).replace(ROOT, str(place))
    out = place / "plan.json"
    words = [str(out) if each == "plan.json" else each for each in shlex.split(text)[1:]]
    ran = CliRunner().invoke(holdfast, words, standalone_mode=False)
    if isinstance(ran.exception, click.ClickException):
        return Ran(code=ExitCode.USAGE, said=ran.exception.format_message(), plan=None)
    if isinstance(ran.exception, HoldfastError):
        return Ran(code=ExitCode.USAGE, said=str(ran.exception), plan=None)
    if ran.exception is not None:
        raise ran.exception
    raw = out.read_bytes()
    plan = None if b'"holdfast.no-plan"' in raw else decode_plan(raw, "plan.json")
    return Ran(code=int(ran.return_value), said=ran.output, plan=plan)


def find_problem(offered: Offered, ran: Ran) -> str:
    """Return what is wrong with a command that was offered; empty when nothing is."""
    if ran.plan is not None:
        goal = offered.command.split()[2]
        return "" if ran.plan.goal == goal and ran.plan.steps else "it is another plan"
    words = FORESEEN.get(offered.rule.code)
    if words is None:
        return f"no plan, and the finding does not foresee it: {ran.said}"
    if words not in offered.how or ran.code not in (ExitCode.DONE, ExitCode.REFUSED):
        return f"exit {ran.code}, without the words {words!r}: {ran.said}"
    return ""


def lay_down(case: RuleCase, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Write a case to disk: the checkpoint, and of a guarded stream its record."""
    name = "checkpoint" if case.is_bare else generation_name(STREAM, case.generation)
    for path, raw in case_files(case).items():
        (place / name / path).parent.mkdir(parents=True, exist_ok=True)
        (place / name / path).write_bytes(raw)
    known = make_case(case)
    monkeypatch.setattr(probing, "probe_sources", lambda *_: known.sources)
    if not case.is_bare:
        rows = _write_record(known, place)
        monkeypatch.setattr(world, "look_at_sink", partial(_look_at_sink, known, rows))


def _write_record(known: Case, place: Path) -> dict[str, LedgerRow | None]:
    """Write the record of a stream, and return its ledger rows by sink."""
    stream = known.stream
    assert stream is not None
    sinks = tuple(
        SinkContract(kind="postgres", place=f"postgresql://h/d#{each.sink}", label=each.sink)
        for each in stream.sinks
    )
    before = None if known.query is None else known.query.before
    contract = _contract(before, sinks)
    record = LocalWriter(parse_location(str(place / "_holdfast" / STREAM)))
    opened = stream.generation
    for number in range(1, stream.generation.number + 1):
        checkpoint = str(place / generation_name(STREAM, number))
        opened = msgspec.structs.replace(opened, number=number, checkpoint=checkpoint)
        record.put(opened.path, encode(opened))
    keep_contract(record, contract)
    ran = Run(
        epoch=8,
        run_id=QUERY_ID,
        generation=opened.number,
        contract=contract.digest,
        spark="4.2",
        started_at="2026-11-15T06:00:00+00:00",
        first_batch=0,
    )
    record.put(ran.path, encode(ran))
    binding = Binding(query_id=QueryId(QUERY_ID), checkpoint=opened.checkpoint)
    return {
        each.sink: None if each.row is None else replace(each.row, binding=binding)
        for each in stream.sinks
    }


def _look_at_sink(
    known: Case, rows: dict[str, LedgerRow | None], contract: SinkContract, *_: str
) -> SinkNow:
    """Return a sink with its row; of a Delta table also the version after each batch."""
    commits = [
        commit
        for output in known.outputs
        if isinstance(output, DeltaOutput)
        for commit in output.commits
    ]
    versions = {
        batch: str(commit.version) for commit in commits for batch in commit.transactions.values()
    }
    return SinkNow(
        contract=contract,
        display_name=f"the table {contract.label}",
        row=rows[contract.label],
        table="1",
        rows=3,
        needs_spark=bool(versions),
        versions=versions,
    )


def _contract(before: Contract | None, sinks: tuple[SinkContract, ...]) -> Contract:
    known: dict[str, Any] = {
        "sources": before.sources if before else (),
        "operators": before.operators if before else (),
        "source_options": before.source_options if before else (),
    }
    return Contract(
        **known,
        sinks=tuple(each.label for each in sinks),
        sink_places=sinks,
        output_mode="append",
        state_provider="",
    )


@pytest.mark.parametrize("offered", OFFERED, ids=str)
def test_a_command_gives_a_plan_or_the_reason_that_the_finding_foresees(
    offered: Offered, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lay_down(offered.case, tmp_path, monkeypatch)
    assert find_problem(offered, run(offered.command, tmp_path)) == ""


def test_every_goal_with_a_plan_is_offered() -> None:
    assert len(OFFERED) > 50
    goals = {each.command.split()[2] for each in OFFERED}
    assert goals == {Goal.RESUME, Goal.REPLAY, Goal.RESET, "rewind"}


@pytest.mark.parametrize("rule", WITH_PAGE, ids=lambda rule: rule.code)
def test_a_command_on_a_page_is_one_that_its_findings_print(rule: Rule) -> None:
    printed = {each.command.split()[2] for each in OFFERED if each.rule is rule}
    on_page = {each.split()[2] for each in ON_PAGE.findall(rule.page)}
    assert on_page == printed


def test_a_rule_that_prints_a_command_has_it_on_its_page() -> None:
    assert {each.rule.code for each in OFFERED} == {rule.code for rule in WITH_PAGE}


@pytest.mark.parametrize("rule", WITH_PAGE, ids=lambda rule: rule.code)
def test_a_command_on_a_page_can_be_parsed(rule: Rule) -> None:
    for line in ON_PAGE.findall(rule.page):
        words = shlex.split(line)
        group = holdfast.get_command(click.Context(holdfast), "plan")
        assert isinstance(group, click.Group)
        command = group.get_command(click.Context(group), words[2])
        assert command is not None
        command.make_context(words[2], words[3:])


PLANTED = {
    "usage": f"holdfast plan reset {STREAM} --root {ROOT} -o plan.json",
    "another goal": f"holdfast plan replay {STREAM} --root {ROOT} -o plan.json",
    "another stream": f"holdfast plan resume others --root {ROOT} -o plan.json",
}


@pytest.mark.parametrize("command", PLANTED.values(), ids=PLANTED)
def test_a_wrong_command_is_found(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = next(each for each in OFFERED if each.rule.code == "HF606")
    lay_down(right.case, tmp_path, monkeypatch)
    wrong = replace(right, command=command)
    assert find_problem(wrong, run(command, tmp_path)) != ""


def test_a_plain_stream_is_offered_plans_that_name_its_output() -> None:
    bare = [each.command for each in OFFERED if each.case.is_bare]
    assert {each.split()[2] for each in bare} == {Goal.RESUME, Goal.REPLAY, Goal.RESET, "rewind"}
    changing = [each for each in bare if each.split()[2] in (Goal.RESET, "rewind")]
    assert all(f" {ELSEWHERE} " in each and " --sink " in each for each in changing)


def finding_of(code: str, name: str) -> Finding:
    rule = next(each for each in RULES if each.code == code)
    cases = read_cases((CASES / f"{code}.toml").read_text())
    (found,) = rule.judge(make_case(next(each for each in cases if each.name == name)))
    return found


@pytest.mark.parametrize(
    ("code", "name", "goal"),
    [
        ("HF604", "the state since then is lost", Goal.RESET),
        ("HF604", "a query without state goes on where the sink ends", Goal.RESUME),
        ("HF606", "a query with state: what is lost, and the reset", Goal.RESET),
        ("HF606", "the ledger gives a deleted checkpoint back", Goal.RESUME),
    ],
)
def test_the_goal_depends_on_whether_there_is_state(code: str, name: str, goal: Goal) -> None:
    assert finding_of(code, name).goal is goal
