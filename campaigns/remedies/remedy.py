"""One remedy: a real stream is damaged, the printed command is run, and Spark starts again.

The command is the one that the finding prints. Its plan is applied with the words that it asks for.
Then the sink must hold the exact multiset, or exactly the rows more that were said to repeat.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from click.testing import CliRunner, Result
from pyspark.sql import SparkSession

from holdfast.cli.main import holdfast
from holdfast.plan.plan_file import Plan, decode_plan
from holdfast.proof.multiset import Difference
from lab import Kafka

NEAREST, REFUSAL = "NEAREST", "REFUSAL"
_COMMAND = re.compile(r"`(holdfast plan [^`]+)`")
_NEAREST = re.compile(r"^Nearest: (holdfast plan .+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where a remedy is carried out."""

    spark: SparkSession
    place: Path
    """An empty directory of its own."""
    database: Callable[[], str]
    """Returns the DSN of a new database."""
    kafka: Callable[[], Kafka]
    """Returns a broker, which all remedies share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CarriedOut:
    """What a remedy has done."""

    command: str
    """As the finding printed it."""
    plan: Plan | None
    """None where the command is not about a plan."""
    difference: Difference
    """Of the sink after the restart, against what it must hold."""
    repeats: int = 0
    """How many rows are said to be written again."""

    @property
    def allowed(self) -> set[str]:
        """What the plan has asked for."""
        needs = () if self.plan is None else self.plan.needs
        return {each.permission.value for each in needs}


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedy:
    """What is damaged, and the goal that repairs it."""

    name: str
    """In small letters and hyphens."""
    code: str
    """Of the rule that offers the command; `NEAREST` or `REFUSAL` where the answer to
    another command, or a refused start, does."""
    goal: str
    carry_out: Callable[[Bench, str], CarriedOut]
    """Called with the code."""


class NotOfferedError(Exception):
    """The finding offers no command, or its command gives no plan."""


def find_problems(remedy: Remedy, done: CarriedOut) -> Iterator[str]:
    """Yield how what was done differs from what was said; nothing when it agrees."""
    if done.plan is not None and remedy.goal != done.plan.goal:
        yield f"the goal is {done.plan.goal}, not {remedy.goal}"
    seen = done.difference
    if seen.missing or seen.foreign:
        yield f"{seen.missing} rows are missing, {seen.foreign} do not belong there"
    if seen.duplicated != done.repeats:
        yield f"{seen.duplicated} rows are duplicated, and {done.repeats} were to be"
    words = done.allowed
    if done.repeats and "repeats-data" not in words:
        yield "rows are written again, and the plan did not ask for that"


def diagnosed(words: list[str], code: str, *, goal: str = "") -> str:
    """Return the command that `holdfast diagnose` prints for a code.

    Args:
        words: What `holdfast diagnose` is asked.
        code: Of the rule.
        goal: The command is for it, where the finding prints several.
    """
    found = json.loads(_run(["diagnose", *words, "--format", "json"]).stdout)["findings"]
    for each in found:
        if each["code"] == code:
            return command_in(each["how"], goal=goal)
    raise NotOfferedError(f"{code} was not found; found: {[each['code'] for each in found]}")


def command_in(how: str, *, goal: str = "") -> str:
    """Return the first command in what a finding says to do, or the first one for a goal."""
    for command in _COMMAND.findall(how):
        if goal in ("", command.split()[2]):
            return str(command)
    raise NotOfferedError(f"no command is offered: {how}")


def nearest_to(command: str) -> str:
    """Run a command that gives no plan, and return the one that its answer calls the nearest."""
    said = _run(shlex.split(command)[1:]).output
    matched = _NEAREST.search(said)
    if matched is None:
        raise NotOfferedError(f"{command}: no nearest command is named: {said}")
    return f"{matched[1]} -o plan.json"


def plan_and_apply(command: str, place: Path) -> Plan:
    """Run a command as it was printed, and apply the plan with the words that it asks for."""
    out = str(place / "plan.json")
    words = [out if each == "plan.json" else each for each in shlex.split(command)[1:]]
    said = _run(words)
    if said.return_value != 0:
        raise NotOfferedError(f"{command}: {said.output}")
    plan = decode_plan(Path(out).read_bytes(), out)
    allowed = [word for each in plan.needs for word in ("--allow", each.word)]
    _run(["apply", out])
    _run(["apply", out, "--execute", *allowed])
    return plan


def run_printed(command: str) -> None:
    """Run a command as it was printed."""
    ran = _run(shlex.split(command)[1:])
    if ran.return_value != 0:
        raise NotOfferedError(f"{command}: {ran.output}")


def _run(words: list[str]) -> Result:
    ran = CliRunner().invoke(holdfast, words, standalone_mode=False)
    if ran.exception is not None:
        raise ran.exception
    return ran
