"""Plans that a sink would stop half-way: refused before, with the goal that it does not stop."""

from __future__ import annotations

from contextlib import closing
from shlex import quote

from msgspec.structs import replace

from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.goal import command_of
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.requests import Request
from holdfast.plan.steps import SettleSink, ledger_row
from holdfast.sinks.kinds import sink_of


def refuse_blocked(plan: Plan, request: Request, looks: DiagnoseRequest) -> NoPlan | None:
    """Refuse a plan that a sink would stop half-way."""
    for step in plan.steps:
        spec = sink_of(step.sink) if isinstance(step, SettleSink) else None
        ledger = None if spec is None else spec.open_ledger(options=looks.options)
        if ledger is None or not isinstance(step, SettleSink):
            continue
        with closing(ledger):
            found = ledger.find_obstacle(ledger_row(step.stream, step.new), step.output)
        if found is not None:
            return NoPlan(reason=found, nearest=_another_way(plan, request, step))
    return None


def _another_way(plan: Plan, request: Request, step: SettleSink) -> str:
    """Return the command of the goal that does without the step; nothing where none is known.

    A reset can leave the tables alone which cannot be emptied. A rewind runs the same batches again
    as a replay, in a new generation.
    """
    stream = f"{plan.stream} --root {quote(plan.root)}"
    if request.goal == "reset":
        return command_of(replace(request, output="new-table", outputs={}), stream)
    if request.goal == "replay" and step.new.last_batch >= 0:
        batch = step.new.last_batch
        return command_of(replace(request, goal="rewind", batch=batch, batches=1), stream)
    return ""
