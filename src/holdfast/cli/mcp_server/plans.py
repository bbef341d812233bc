"""The tools `plan` and `apply`: an agent plans and rehearses, and a person approves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from shlex import join, quote

import msgspec

from holdfast.apply.approval import ApprovalError, check_approval, read_key
from holdfast.cli.apply import rehearsal_fields
from holdfast.cli.exit_codes import ExitCode, exit_code_of
from holdfast.cli.mcp_server.answers import error_fields
from holdfast.cli.mcp_server.arguments import ApplyArguments, Arguments, PlanArguments, words_of
from holdfast.cli.mcp_server.calling import call_command
from holdfast.cli.mcp_server.reply import Reply, Serving
from holdfast.cli.mcp_server.roots import Roots
from holdfast.cli.plan_text import find_spark_table, outside_outputs
from holdfast.errors import ConfigError, HoldfastError
from holdfast.plan import make as registers_goals
from holdfast.plan.goal import GOALS, Goal, Option
from holdfast.plan.plan_file import FORMAT, Plan, decode_plan
from holdfast.repairing import apply_plan, read_plan, rehearse_plan

assert registers_goals.__name__  # every goal is imported by it
_FILE = "plan.json"


def goals() -> dict[str, Goal]:
    """Return the goals that need no code of the stream."""
    return {name: each for name, each in sorted(GOALS.items()) if not each.runs_code}


def describe_goals() -> str:
    """Return every goal with its options, one line each."""
    return "\n".join(f"- {name}: {each.summary}{_options(each)}" for name, each in goals().items())


def _options(goal: Goal) -> str:
    shown = "; ".join(_describe(each) for each in goal.options)
    return f" Options: {shown}" if shown else ""


def _describe(option: Option) -> str:
    choices = f" ({', '.join(option.choices)})" if option.choices else ""
    needed = ", required" if option.is_required else ""
    return f"{keyword_of(option)}{choices}{needed}"


def keyword_of(option: Option) -> str:
    """Return the name of an option, as in Python."""
    return option.keyword or option.field


def run_plan(serving: Serving, given: Arguments) -> Reply:
    """Make a plan, and rehearse it in memory; nothing is written.

    Raises:
        ConfigError: There is no such goal or option.
        LocationError: A place is outside the roots.
    """
    assert isinstance(given, PlanArguments)
    goal = goals().get(given.goal)
    if goal is None:
        raise ConfigError(f"There is no goal {given.goal!r}: {', '.join(goals())}.")
    own = list(_own_options(goal, given.options, serving.roots))
    plain = msgspec.structs.replace(given, options={}, goal="")
    options, stream = words_of(plain, serving.roots, last="stream")
    options = [each for each in options if each != "--goal="]
    shown = ["plan", goal.name, *own, *options]
    called = call_command([*shown, *serving.storage_words, "--format=json", "--", *stream])
    command = [*shown, "--", *stream]
    if called.answer.get("format") != FORMAT:
        return Reply(called.exit_code, called.answer, command)
    plan = decode_plan(json.dumps(called.answer).encode(), "the plan")
    exit_code, rehearsal = _rehearse(plan, serving)
    answer: dict[str, object] = {
        "format": "holdfast.planned",
        "rehearsal": rehearsal,
        "plan": called.answer,
    }
    return Reply(exit_code, answer, command, tuple(_steps(plan, command)))


def _rehearse(plan: Plan, serving: Serving) -> tuple[int, dict[str, object]]:
    refuse_outside_places(plan, serving.roots)
    try:
        found = rehearse_plan(
            plan, storage_options=serving.storage_options, roots=outside_outputs(plan)
        )
    except HoldfastError as error:
        return exit_code_of(error), error_fields(error)
    return ExitCode.DONE, {"format": "holdfast.rehearsal", **rehearsal_fields(plan, found)}


def _steps(plan: Plan, command: list[str]) -> Iterator[str]:
    """Yield what a person runs to keep the plan and to approve it."""
    kept = [*command[: command.index("--")], f"--out={_FILE}", *command[command.index("--") :]]
    allowed = "".join(f" --allow {quote(word)}" for word in plan.words)
    roots = "".join(f" --root {quote(each)}" for each in outside_outputs(plan))
    yield join(("holdfast", *kept))
    yield f"holdfast apply {_FILE} --approve{allowed}{roots}"


def _own_options(goal: Goal, given: Mapping[str, object], roots: Roots) -> Iterator[str]:
    known = {keyword_of(each): each for each in goal.options}
    for name, value in given.items():
        option = known.get(name)
        if option is None:
            raise ConfigError(f"{goal.name} has no option {name!r}: {', '.join(known) or 'none'}.")
        if isinstance(value, Mapping):
            yield from (f"{option.flag}={key}={each}" for key, each in value.items())
        elif isinstance(value, bool):
            yield from ([option.flag] if value else [])
        elif option.is_file or (goal.name, name) == ("move", "to"):
            yield f"{option.flag}={roots.place(str(value))}"
        else:
            yield f"{option.flag}={value}"


def run_apply(serving: Serving, given: Arguments) -> Reply:
    """Carry out a plan that a person approved.

    Raises:
        ApprovalError: Nobody approved it; nothing was changed.
        HoldfastError: It was refused, or stopped part-way.
    """
    assert isinstance(given, ApplyArguments)
    if not serving.allows_apply:
        raise ConfigError("This server only reads. It was started without --allow-apply.")
    plan = read_plan(serving.roots.place(given.plan))
    key = read_key()
    if key is None:
        raise ApprovalError(plan.id, "No plan was ever approved by the account of this server.")
    check_approval(plan, set(given.allow), given.digest, key=key)
    refuse_outside_places(plan, serving.roots)
    table = find_spark_table(plan)
    if table:
        raise ConfigError(
            f"The plan changes {table} with Spark jobs, which this server does not start. A "
            "person carries it out: holdfast apply PLAN --execute."
        )
    journal = apply_plan(
        plan,
        allow=set(given.allow),
        storage_options=serving.storage_options,
        roots=outside_outputs(plan),
    )
    said = {"plan": plan.id, "journal": journal, "steps": len(plan.steps)}
    answer = {"format": "holdfast.applied", "version": 1, **said, "next": list(plan.afterwards)}
    return Reply(ExitCode.DONE, answer, steps=(f"holdfast undo {quote(journal)}",))


def refuse_outside_places(plan: Plan, roots: Roots) -> None:
    """Refuse a plan that names a place outside the roots of the server.

    Raises:
        LocationError: It names one.
    """
    sinks = (getattr(getattr(step, "sink", None), "place", None) for step in plan.steps)
    named = (plan.root, *plan.roots, *plan.places, *(each for each in sinks if each))
    for place in dict.fromkeys(named):
        if "@env:" not in place and "@file:" not in place:  # a database is connected to, not opened
            roots.place(place)
