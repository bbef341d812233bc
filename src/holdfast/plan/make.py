"""Makes a plan: looks at the streams, and asks the goal. Nothing is changed."""

from __future__ import annotations

from collections.abc import Mapping
from shlex import quote

import msgspec
from msgspec.structs import replace

from holdfast.errors import ConfigError
from holdfast.judgement.case import DiagnoseRequest
from holdfast.plan.blocked import refuse_blocked
from holdfast.plan.goal import GOALS, Code, CodeCase, Goal, GoalCase, command_of
from holdfast.plan.goals import backfill, clone, migrate, prune, replay, reset, resume, rewind
from holdfast.plan.goals.outputs import KEEP, OutputChoice
from holdfast.plan.goals.refusals import keeping, named
from holdfast.plan.graph import StreamEdges, find_downstream, find_sharing, read_edges
from holdfast.plan.plain import absolute_sink
from holdfast.plan.plain_readers import find_readers
from holdfast.plan.plan_file import Need, NoPlan, Plan
from holdfast.plan.requests import Asked, Request
from holdfast.plan.signs import find_signs, open_logs
from holdfast.plan.steps import Permission
from holdfast.plan.world import StreamNow, look_at_stream
from holdfast.record.repairs import unfinished_repairs
from holdfast.storage.location import parse_location
from holdfast.storage.open import open_reader

MODULES = (resume, replay, reset, rewind, clone, migrate, prune, backfill)
"""The modules of the goals. Each registers its own."""


def make_plan(request: Request, looks: DiagnoseRequest, code: Code | None = None) -> Plan | NoPlan:
    """Return the plan for a goal, or why there is none.

    Args:
        request: What is asked for.
        looks: Where the stream is.
        code: Of the stream, for a goal that runs it.

    Raises:
        HoldfastError: The stream cannot be read.
    """
    found = plan_steps(request, looks, code)
    return found if isinstance(found, NoPlan) else refuse_blocked(found, request, looks) or found


def plan_steps(request: Request, looks: DiagnoseRequest, code: Code | None = None) -> Plan | NoPlan:
    """Return the plan for a goal, before its sinks are asked whether they can carry it out.

    Raises:
        HoldfastError: The stream cannot be read.
    """
    goal = GOALS.get(request.goal)
    if goal is None:
        raise ConfigError(f"There is no goal {request.goal!r}. There are: {', '.join(GOALS)}.")
    goal.check_words(request)
    found = _with_code(goal, request, looks, code=code) if goal.runs_code else None
    found = found or _from_places(goal, request, looks)
    if isinstance(found, NoPlan):
        return found
    return msgspec.structs.replace(found, asked=_asked(request, looks))


def _with_code(
    goal: Goal, request: Request, looks: DiagnoseRequest, *, code: Code | None
) -> Plan | NoPlan:
    if code is None:
        raise ConfigError(f"A {goal.name} runs the stream's code: give --pipeline MODULE:PIPELINE.")
    _refuse_other_root(looks.root, code.pipeline.root)
    found = goal.build(CodeCase(request=request, stream=looks.location, code=code))
    if isinstance(found, Plan) and code.pipeline.root is None:
        _refuse_other_root(looks.root, found.root)  # of the session
    return found


def _refuse_other_root(asked: str | None, own: str | None) -> None:
    """Refuse a root that the code of the stream does not use: the plan would be for another."""
    if asked is None or own is None:
        return
    given, declared = parse_location(asked), parse_location(own)
    if given != declared:
        raise ConfigError(f"The pipeline keeps its records in {declared}, not in {given}.")


def _from_places(goal: Goal, request: Request, looks: DiagnoseRequest) -> Plan | NoPlan:
    now = look_at_stream(replace(looks, every_entry=goal.names_batches))
    if now.case.record_unread is not None:
        # Taken for a bare checkpoint, it would be changed without its lease and its ledgers.
        return NoPlan(
            reason=f"The record of {now.stream} cannot be read: {now.case.record_unread} "
            f"Restore the files below {now.record.location} from a backup, then plan again."
        )
    refused = _refuse_half_applied(now) or _refuse_nothing(now, request)
    if refused is not None:
        return refused
    if now.is_plain:
        return _of_plain(goal, request, looks, now=now)
    if goal.changes_output:
        return _with_downstream(now, request, looks)
    return goal.build(GoalCase(request=request, now=now))


def _of_plain(
    goal: Goal, request: Request, looks: DiagnoseRequest, *, now: StreamNow
) -> Plan | NoPlan:
    """Plan for a stream without a record: what was looked at takes the place of its lease."""
    readers = find_readers(now, looks) if goal.changes_output else ()
    if readers and not request.cascade and takes_rows(request, f"{now.stream}/", is_first=True):
        return NoPlan(
            reason=f"The output of {now.stream} is read by "
            f"{', '.join(each.stream for each in readers)}. If its rows are taken away, a reader "
            "fails, or keeps rows that are gone. Add --cascade to reset the readers too, and name "
            f"the output of each: --sink {readers[0].stream}=WHERE.",
        )
    below = readers if request.cascade else ()
    found = goal.build(GoalCase(request=request, now=now, below=below))
    if isinstance(found, NoPlan) or goal.copies:
        return found
    said = {need.stream for need in found.needs if need.permission is Permission.UNGUARDED}
    needs = [
        Need(permission=Permission.UNGUARDED, stream=each.stream, why=find_signs(each.case).say())
        for each in (now, *below)
        if each.stream not in said
    ]
    if goal.changes_output and looks.among is None and (now.sinks or now.directories):
        why = f"Whether other streams read what {now.stream} writes was not looked at: see --among."
        needs.append(Need(permission=Permission.BY_HAND, stream=now.stream, why=why))
    watched = tuple(log for each in (now, *below) for log in open_logs(each.case))
    return msgspec.structs.replace(found, needs=(*found.needs, *needs), watched=watched)


def is_copy(plan: Plan) -> bool:
    """Return whether a plan only copies a checkpoint."""
    found = GOALS.get(plan.goal)
    return found is not None and found.copies


def _asked(request: Request, looks: DiagnoseRequest) -> Asked:
    """Return what makes the same plan again, also from another working directory."""
    named = looks.root is not None or GOALS[request.goal].runs_code
    location = looks.location if named else str(parse_location(looks.location))
    root = str(parse_location(looks.root)) if looks.root is not None else None
    return Asked(
        request=request,
        location=location,
        root=root,
        sources=dict(looks.sources),
        sinks=tuple(map(absolute_sink, looks.sinks)),
        event_log=_absolute(looks.event_log),
        among=_absolute(looks.among),
    )


def _absolute(text: str | None) -> str | None:
    return None if text is None else str(parse_location(text))


def _refuse_half_applied(now: StreamNow) -> NoPlan | None:
    """Refuse while another plan is half applied: what it has not done looks like damage."""
    for found in unfinished_repairs(now.record):
        return NoPlan(
            reason=f"A {found.goal} of {now.stream} was begun and has not ended (journal "
            f"{found.journal}). Go on with it, or take it back with `holdfast undo`.",
            nearest=f"holdfast apply {quote(found.journal)} --continue",
        )
    return None


def _refuse_nothing(now: StreamNow, request: Request) -> NoPlan | None:
    """Refuse to call a place fine that has no checkpoint, or to copy nothing."""
    rows = any(sink.row is not None or sink.unreadable for sink in now.sinks)
    if now.checkpoint.walk_page("").files or (rows and not GOALS[request.goal].copies):
        return None
    if now.guard is None and request.goal == "resume" and now.case.event_log is not None:
        return None  # it may be given back
    if now.guard is None:
        more = " If it was deleted, add --event-log and --sink." if request.goal == "resume" else ""
        return NoPlan(
            reason=f"There is no checkpoint at {now.place}. A stream with a record is named by "
            f"its name and --root ROOT.{more}"
        )
    if now.guard.run is None and not GOALS[request.goal].copies:
        return None  # it was never started: there is nothing yet that could be gone
    if rows:
        return NoPlan(
            reason=f"There is no checkpoint at {now.place}.",
            nearest=f"holdfast plan resume {named(now)}",
        )
    return NoPlan(
        reason=f"{now.stream} has run, and there is neither a checkpoint at {now.place} nor a "
        "ledger row in its sinks. Do the sinks have the right address?"
    )


def _with_downstream(now: StreamNow, request: Request, looks: DiagnoseRequest) -> Plan | NoPlan:
    """Plan what changes the output of a stream: those that read it are part of the job."""
    edges = read_edges(open_reader(now.root, looks.options))
    downstream = find_downstream(edges, now.stream)
    below: tuple[StreamNow, ...] = ()
    if request.cascade:
        root = str(now.root)
        below = tuple(
            look_at_stream(replace(looks, location=name, root=root, probe=edges[name].has_topics))
            for name in downstream
        )
    refused = _refuse_unnamed(request, (now, *below))
    refused = refused or _refuse_downstream(edges, request, now)
    refused = refused or _refuse_shared(edges, request, (now, *below))
    if refused is not None:
        return refused
    found = GOALS[request.goal].build(GoalCase(request=request, now=now, below=below))
    if isinstance(found, NoPlan) and found.needs_kept_output:
        return replace(found, nearest=keeping(request, now))
    return found


def _refuse_unnamed(request: Request, streams: tuple[StreamNow, ...]) -> NoPlan | None:
    """Refuse an output for a sink that is not there: the sink that was meant would get another."""
    known = [f"{each.stream}/{sink.contract.label}" for each in streams for sink in each.sinks]
    unknown = sorted(set(request.outputs) - set(known))
    if not unknown:
        return None
    return NoPlan(reason=f"There is no sink {unknown[0]}; these are: {', '.join(known) or 'none'}.")


def _refuse_downstream(
    edges: Mapping[str, StreamEdges], request: Request, now: StreamNow
) -> NoPlan | None:
    """Refuse to take rows away below a stream that reads them, or may."""
    stream, labels = now.stream, [sink.contract.label for sink in now.sinks] or [""]
    if not any(takes_rows(request, f"{stream}/{each}", is_first=True) for each in labels):
        return None
    for each in edges.values():
        if each.unknown:
            return NoPlan(
                reason=f"Whether {each.stream} reads what {stream} writes is not known: "
                f"{each.unknown}"
            )
    names = ", ".join(find_downstream(edges, stream))
    if not names or request.cascade:
        return None
    return NoPlan(
        reason=f"{names} read what {stream} writes: with rows taken away below them, they "
        "fail or keep what is gone. With --cascade they are reset too, in the order of the data.",
        nearest=command_of(replace(request, cascade=True), named(now)),
    )


def _refuse_shared(
    edges: Mapping[str, StreamEdges], request: Request, streams: tuple[StreamNow, ...]
) -> NoPlan | None:
    """Refuse to take rows away from a table that another stream writes to as well."""
    taken = [
        sink.contract.place
        for number, each in enumerate(streams)
        for sink in each.sinks
        if takes_rows(request, f"{each.stream}/{sink.contract.label}", is_first=number == 0)
    ]
    names = [each.stream for each in streams]
    sharing = find_sharing(edges, taken, without=names)
    if not sharing:
        return None
    return NoPlan(
        reason=f"{', '.join(sharing)} write to a table whose rows {', '.join(names)} would take "
        "away: theirs would go too, and nothing brings them back.",
        nearest=keeping(request, streams[0]),
    )


def takes_rows(request: Request, sink: str, *, is_first: bool) -> bool:
    """Return whether a plan takes rows from a sink."""
    if request.goal == "reset":
        return request.outputs.get(sink, request.output) == OutputChoice.TRUNCATE
    return not is_first or request.output != KEEP
