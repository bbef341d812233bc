"""The tools of the server: arguments, the command that each stands for, its description."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from holdfast.cli.exit_codes import exit_code_of
from holdfast.cli.mcp_server.answers import error_fields, render_answer
from holdfast.cli.mcp_server.arguments import (
    ApplyArguments,
    Arguments,
    AuditArguments,
    DiagnoseArguments,
    ExplainArguments,
    FactsArguments,
    FleetDiffArguments,
    FleetScanArguments,
    InspectArguments,
    LintArguments,
    PlanArguments,
    StateArguments,
    words_of,
)
from holdfast.cli.mcp_server.calling import call_command
from holdfast.cli.mcp_server.plans import describe_goals, run_apply, run_plan
from holdfast.cli.mcp_server.reply import Reply, Serving
from holdfast.errors import HoldfastError

Run = Callable[[Serving, Arguments], Reply]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool."""

    name: str
    title: str
    description: str
    arguments: type[Arguments]
    run: Run
    is_read_only: bool = True

    @property
    def input_schema(self) -> dict[str, object]:
        """The JSON schema of its arguments."""
        (schema,), parts = msgspec.json.schema_components((self.arguments,))
        found: dict[str, object] = parts[schema["$ref"].rpartition("/")[2]]
        return {**found, "description": self.description.partition("\n")[0]}


def call_tool(tool: Tool, given: Mapping[str, object], serving: Serving) -> tuple[bool, str]:
    """Call a tool; return whether that was an error, and the answer as JSON.

    Args:
        tool: Which.
        given: Its arguments, as the client sent them.
        serving: What the server may open.
    """
    try:
        arguments = msgspec.convert(dict(given), tool.arguments)
        reply = tool.run(serving, arguments)
    except msgspec.ValidationError as error:
        said = {"format": "holdfast.error", "code": "ARGUMENTS", "why": str(error)[:1_000]}
        return True, render_answer(tool.name, 2, {**said, "version": 1})
    except HoldfastError as error:
        return True, render_answer(tool.name, exit_code_of(error), error_fields(error))
    is_error = reply.answer.get("format") == "holdfast.error"
    return is_error, render_answer(
        tool.name, reply.exit_code, reply.answer, command=reply.command, steps=reply.steps
    )


def _command(*verb: str, last: str, takes_options: bool = True) -> Run:
    """Return what calls a command that only reads."""

    def run(serving: Serving, given: Arguments) -> Reply:
        options, places = words_of(given, serving.roots, last=last)
        shown = [*verb, *options, "--format=json", "--", *places]
        own = serving.storage_words if takes_options else []
        called = call_command([*verb, *own, *shown[len(verb) :]])
        return Reply(called.exit_code, called.answer, shown)

    return run


_READING = (
    Tool(
        name="facts",
        title="The nine facts of a stream",
        description="The nine facts of a stream, each with where it was read. Call this first: "
        "no advice about a stream before its facts. What is not known names the command that "
        "would tell.",
        arguments=FactsArguments,
        run=_command("facts", last="location"),
    ),
    Tool(
        name="diagnose",
        title="Is a restart safe?",
        description="Whether a restart of a stream is safe, what it would lose or repeat, and "
        "which goal repairs that. `verdict` is one of loses-data, repeats-data, alters-data, "
        "will-not-start, not-known, no-checkpoint, safe. not-known is not safe.",
        arguments=DiagnoseArguments,
        run=_command("diagnose", last="location"),
    ),
    Tool(
        name="inspect",
        title="What is in a checkpoint",
        description="What is in a checkpoint and what Spark will do on the next start; of a "
        "directory, one row for each checkpoint below it. Sinks and sources are not looked at.",
        arguments=InspectArguments,
        run=_command("inspect", last="location"),
    ),
    Tool(
        name="fleet_scan",
        title="Scan many checkpoints",
        description="One row for each checkpoint below the locations: what its next restart does, "
        "by a shallow look, and what several show together. Call `diagnose` for one of them.",
        arguments=FleetScanArguments,
        run=_command("fleet", "scan", last="locations"),
    ),
    Tool(
        name="fleet_diff",
        title="Compare two scans",
        description="What changed between two scans of many checkpoints that a person has kept, "
        "what got worse first: newly unsafe, went back, stuck, gone, growing, new, recovered.",
        arguments=FleetDiffArguments,
        run=_command("fleet", "diff", last="scans", takes_options=False),
    ),
    Tool(
        name="state",
        title="What is in the state",
        description="Rows in the state of a checkpoint by operator and partition, and whether a "
        "key is in it.",
        arguments=StateArguments,
        run=_command("state", last="location"),
    ),
    Tool(
        name="explain",
        title="Explain a rule",
        description="What a rule (HF606) finds, what Spark does then, and what to do.",
        arguments=ExplainArguments,
        run=_command("rules", "explain", last="code", takes_options=False),
    ),
    Tool(
        name="lint",
        title="Lint streaming code",
        description="Code that loses or duplicates rows when a stream restarts. The code is "
        "parsed, never imported or run.",
        arguments=LintArguments,
        run=_command("lint", last="paths", takes_options=False),
    ),
    Tool(
        name="audit",
        title="Audit a repository",
        description="Every streaming query of a repository, and what a restart after a kill does "
        "to its rows. The code is parsed, never imported or run.",
        arguments=AuditArguments,
        run=_command("audit", last="paths", takes_options=False),
    ),
)


def find_tools(*, allows_apply: bool) -> dict[str, Tool]:
    """Return the tools of a server by their names.

    Args:
        allows_apply: Whether a plan that a person approved can be carried out.
    """
    plan = Tool(
        name="plan",
        title="Plan a repair, and rehearse it",
        description="What a repair would do to the data, with every step, made and rehearsed in "
        "memory. Nothing is changed. Give `goal`, and its `options` by name.\n" + describe_goals(),
        arguments=PlanArguments,
        run=run_plan,
    )
    apply = Tool(
        name="apply",
        title="Carry out an approved plan",
        description="Carries out a plan that a person approved: `digest` is what `holdfast apply "
        "PLAN --approve` printed in that person's terminal. Without it, or if the plan was changed "
        "since, nothing happens. Never ask a person to approve a plan that they have not read.",
        arguments=ApplyArguments,
        run=run_apply,
        is_read_only=False,
    )
    tools = (*_READING, plan, *((apply,) if allows_apply else ()))
    return {each.name: each for each in tools}
