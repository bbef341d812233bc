"""Says whether a plain stream can be adopted, and what its first guarded start finds."""

from __future__ import annotations

from holdfast.adoption.into_sink import NoSink
from holdfast.adoption.look import AdoptionRequest, PlainStream, look
from holdfast.adoption.model import Adoption, AdoptionVerdict, ProgramChange, Suggested
from holdfast.adoption.pending import find_pending
from holdfast.adoption.program import ProgramOfStream, change_without_program
from holdfast.adoption.questions import QUESTIONS
from holdfast.adoption.todo import find_todo, is_complete
from holdfast.adoption.unclear import find_unclear
from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.evidence.case import Case
from holdfast.evidence.outcomes import Refuses, Resumes, RunsAgain, StartsFresh
from holdfast.evidence.outputs.output import NotRead
from holdfast.evidence.progress import find_progress
from holdfast.evidence.wording import describe_position
from holdfast.formats.event_log.history import EventLogHistory
from holdfast.grades import Severity
from holdfast.plan.signs import find_signs
from holdfast.rules.rule import Finding
from holdfast.sources.probe import NotProbed
from holdfast.storage.location import spark_location

_NO_CODE = "no program was named with --code"
_COMPLETE = "output mode complete needs the columns of the grouping as keys=[…]"


def find_adoption(request: AdoptionRequest) -> Adoption:
    """Say whether a plain stream can be adopted, and what its first guarded start finds.

    Raises:
        ConfigError: It is a bundle, or the stream's name is not one.
        LocationError: A location is not one that Holdfast can read.
        ReadError: A directory of the checkpoint cannot be listed; nothing can be said then.
    """
    found = look(request)
    case = found.case
    pending = find_pending(case, found.sink, found.start)
    others = _others(found)
    todo = find_todo(found, pending, others)
    why, verdict = _verdict(found, has_todo=bool(todo))
    metadata = case.checkpoint.metadata
    refusing = () if found.start is None else found.start.refusing
    return Adoption(
        verdict=verdict,
        why=why,
        stream=found.stream,
        root=found.root,
        checkpoint=str(case.checkpoint.location),
        query_id=metadata.query_id if isinstance(metadata, QueryMetadata) else None,
        generation=1,
        first_batch=case.newest_committed + 1,
        next_batch=_next_batch(case),
        offsets=tuple(
            f"source {each.source}: {describe_position(each)}"
            for each in find_progress(case.checkpoint).sources
        ),
        pending=pending,
        sink=_said_sink(found),
        signs=find_signs(case).say(),
        fences_old_writer=_fences(found),
        asks=tuple(each for each in refusing if each.code in QUESTIONS),
        others=others,
        todo=todo,
        change=_change(found),
        not_known=find_unclear(found, pending),
    )


def _others(found: PlainStream) -> tuple[Finding, ...]:
    """Return what else was found: by the first guarded start, and of the plain stream."""
    start = () if found.start is None else found.start.findings
    by_code = {each.code: each for each in (*start, *found.judged.findings)}
    grave = (each for each in by_code.values() if each.severity is not Severity.NOTE)
    order = tuple(Severity)
    return tuple(
        sorted(
            (each for each in grave if each.code not in QUESTIONS and not _is_said(each)),
            key=lambda each: (order.index(each.severity), each.code),
        )
    )


def _is_said(found: Finding) -> bool:
    """Return whether a finding only says what is said of the next batch anyway."""
    return found.is_predicted and not found.refuses_start


def _verdict(found: PlainStream, *, has_todo: bool) -> tuple[str, AdoptionVerdict]:
    if found.case.checkpoint.is_empty:
        place = found.case.checkpoint.location
        return f"there is no checkpoint at {place}. Check the path", AdoptionVerdict.UNKNOWN
    if found.taken is not None:
        return found.taken, AdoptionVerdict.NOT
    if isinstance(found.into, NoSink):
        is_certain = found.into.is_certain
        return found.into.why, AdoptionVerdict.NOT if is_certain else AdoptionVerdict.UNKNOWN
    unknown = _unknown(found)
    if unknown is not None:
        return unknown, AdoptionVerdict.UNKNOWN
    return "", AdoptionVerdict.AFTER if has_todo else AdoptionVerdict.READY


def _unknown(found: PlainStream) -> str | None:
    """Return what the answer depends on and is not known; None if everything is."""
    case, start = found.case, found.start
    if start is None:
        return "the location of the table that the code names is not known (--sink LOCATION)"
    if start.is_unseen and start.unclear:
        return start.unclear[0].what
    if not found.is_named:
        return "the stream has no name or no root yet"
    if _next_batch(case) is None and not isinstance(case.next_start, Refuses):
        return str(getattr(case.next_start, "because", "what Spark does next is not known"))
    return found.unread or _find_unread(case)


def _find_unread(case: Case) -> str | None:
    """Return what was named and could not be read; None if everything was."""
    sinks = (
        f"{each.display_name}: {each.why}" for each in case.outputs if isinstance(each, NotRead)
    )
    sources = (
        f"source {each.source}, {each.display_name}: {each.found.why}"
        for each in case.sources
        if isinstance(each.found, NotProbed)
    )
    log = case.event_log
    has_runs = log is None or (isinstance(log, EventLogHistory) and log.runs)
    logs = () if has_runs or log is None else (f"{log.location}: it has no run of the query",)
    return next((each.rstrip(".") for each in (*sinks, *sources, *logs)), None)


def _next_batch(case: Case) -> int | None:
    match case.next_start:
        case Resumes(batch_id=batch) | RunsAgain(batch_id=batch):
            return int(batch)
        case StartsFresh():
            return 0
        case _:
            return None


def _said_sink(found: PlainStream) -> Suggested | None:
    into = found.sink
    if into is None:
        return None
    where = into.named_by
    if into.at is not None and isinstance(found.program, ProgramOfStream):
        where = found.program.place(into.at)
    return Suggested(value=into.written("hf"), where=where)


def _fences(found: PlainStream) -> bool | None:
    if found.start is None:
        return None
    sink = found.start.sink
    return sink is not None and sink.last_batch is not None


def _change(found: PlainStream) -> ProgramChange:
    named = {"stream": found.stream.value, "root": found.root.value}
    checkpoint = spark_location(found.case.checkpoint.location)
    if isinstance(found.program, ProgramOfStream):
        by_hand = _COMPLETE if is_complete(found) else None
        return found.program.change(
            **named, into=found.sink, checkpoint=checkpoint, by_hand=by_hand
        )
    why = _NO_CODE if found.program is None else found.program.why
    return change_without_program(**named, into=found.sink, checkpoint=checkpoint, why=why)
