"""A plan as a tired person reads it: what it does to the data, what it needs, what comes next."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import quote

from holdfast.plan.plan_file import Impact, Plan
from holdfast.plan.steps import FillTree, HoldTree, SettleSink
from holdfast.sinks.kinds import kind_of
from holdfast.storage.location import is_inside, parse_location
from holdfast.wording import count

_WIDTH = 22


def render_plan(plan: Plan, file: str | None) -> Iterator[str]:
    """Yield a plan as text; the first line is what it does."""
    yield from render_effect(plan)
    yield ""
    yield from _next(plan, file)


def render_effect(plan: Plan) -> Iterator[str]:
    """Yield what a plan does, what it needs and how it is taken back."""
    yield f"{plan.summary} Nothing has been changed."
    yield ""
    for impact in plan.impact:
        yield from _impact(impact)
    yield ""
    yield _line("lost for good", _amounts(plan, "loses") or "nothing")
    yield _line("skipped", _amounts(plan, "skips") or "nothing")
    yield _line("repeated", _repeated(plan))
    yield _line("undo", plan.undo)
    for number, need in enumerate(plan.needs):
        yield _line("" if number else "needs", f"--allow {need.word}   {need.why}")
    table = find_spark_table(plan)
    if table:
        yield _line("Spark", f"some steps change {table}: they run as Spark jobs")
    yield _line("steps", f"{len(plan.steps)}; the plan is {plan.id}")


def _impact(impact: Impact) -> Iterator[str]:
    if impact.facts:
        yield from (_line(each.name, each.what) for each in impact.facts)
    else:
        yield _line(impact.stream, impact.position)
    for output in impact.outputs:
        yield _line("", output)
    for change in impact.changes:
        yield _line("", change.what)


def _amounts(plan: Plan, kind: str) -> str:
    found = [each for impact in plan.impact for each in impact.changes if each.kind == kind]
    if any(each.amount is None for each in found):
        return "; ".join(each.what for each in found)
    units = dict.fromkeys(each.unit for each in found)
    sums = {unit: sum(each.amount or 0 for each in found if each.unit == unit) for unit in units}
    return ", ".join(count(number, unit) for unit, number in sums.items())


def _repeated(plan: Plan) -> str:
    found = _amounts(plan, "repeats")
    allowed = [need for need in plan.needs if need.permission == "repeats-data"]
    return found or ("; ".join(need.why for need in allowed) if allowed else "nothing")


def _next(plan: Plan, file: str | None) -> Iterator[str]:
    if file is None:
        yield "To keep this plan, add: -o plan.json"
        return
    yield f"Rehearse it: {' '.join(('holdfast apply', quote(file), *_roots(plan)))}"
    yield f"Carry it out: holdfast apply {quote(file)} {execute_options(plan)}"


def execute_options(plan: Plan) -> str:
    """Return the options of `apply` that carry a plan out."""
    return " ".join(("--execute", *(f"--allow {word}" for word in plan.words), *_roots(plan)))


def _roots(plan: Plan) -> tuple[str, ...]:
    """Return the options that name the outputs of plain streams: `apply` asks for them."""
    return tuple(f"--root {quote(each)}" for each in outside_outputs(plan))


def outside_outputs(plan: Plan) -> tuple[str, ...]:
    """Return where the outputs of plain streams are that a plan changes outside its root."""
    places = [each for each in plan.steps if isinstance(each, HoldTree | FillTree)]
    outside = [
        parse_location(each.place).parent or parse_location(each.place)
        for each in places
        if not is_inside(parse_location(each.place), parse_location(plan.root))
    ]
    return () if plan.undoes is not None else tuple(dict.fromkeys(map(str, outside)))


def find_spark_table(plan: Plan) -> str:
    """Return what a step of a plan changes with a Spark session; empty if none needs one."""
    for step in plan.steps:
        if isinstance(step, SettleSink):
            kind = kind_of(step.sink)
            if kind is not None and kind.settles_with_spark:
                return "an Iceberg table" if kind.kind == "iceberg" else "a Delta table"
    return ""


def _line(head: str, text: str) -> str:
    return f"  {head:<{_WIDTH}}{text}" if len(head) < _WIDTH else f"  {head}  {text}"
