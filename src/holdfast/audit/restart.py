"""What a restart after a kill does to a query: by its checkpoint, its source and its sink."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from holdfast.audit.sink_judgement import KnownBy, SinkJudgement
from holdfast.grades import Confidence, Effect, Recognises
from holdfast.lint.catalogue import LINT_RULES
from holdfast.lint.program import Program
from holdfast.lint.queries import FILE_FORMATS, Query, format_of_reader, read_options
from holdfast.lint.rule import CheckpointFault

_KEPT_ON_RESTART = frozenset({"delta", "iceberg", "cloudfiles", *FILE_FORMATS})
"""Sources that a new query reads from their beginning."""
_STARTS_OVER = frozenset(
    {CheckpointFault.TEMPORARY, CheckpointFault.CHANGES, CheckpointFault.DELETED}
)
_RULES = {rule.code: rule for rule in LINT_RULES}


class AfterKill(msgspec.Struct, frozen=True, kw_only=True):
    """What the next start does to the data."""

    effects: tuple[Effect, ...]
    """Empty if it is not known."""
    confidence: Confidence
    says: str


def fault_of(code: str) -> CheckpointFault | None:
    """Return what a rule of lint finds wrong with a checkpoint."""
    return _RULES[code].fault


def changes_for(codes: Iterable[str]) -> list[str]:
    """Return what makes the checkpoints safe that rules of lint have found."""
    found = (_RULES[code].change for code in codes)
    return [each for each in found if each is not None]


SHARED = AfterKill(
    effects=(Effect.LOSES, Effect.FAILS),
    confidence=Confidence.LIKELY,
    says="Two queries use one checkpoint: one fails, or continues from the other's offsets.",
)


def judge_restart(
    program: Program, query: Query, sink: SinkJudgement, *, faults: frozenset[CheckpointFault]
) -> AfterKill:
    """Judge a restart.

    Args:
        program: Of the query.
        query: The query.
        sink: What its sink does with a repeated batch.
        faults: What is wrong with its checkpoint.
    """
    is_missing = CheckpointFault.MISSING in faults
    if sink.effect is Effect.FAILS:
        return AfterKill(effects=(Effect.FAILS,), confidence=Confidence.LIKELY, says=sink.why)
    if CheckpointFault.REFUSED in faults:
        return _fails("Spark refuses the second start of a memory sink with a checkpoint.")
    if sink.recognises is Recognises.NOT_KEPT:
        return _nothing("The output is only looked at; nothing that is kept changes.")
    if is_missing and query.format not in {"foreachBatch", "foreach"}:
        return _fails("Spark refuses to start the query: it has no checkpointLocation.")
    if is_missing or faults & _STARTS_OVER:
        return _start_over(query, sink, faults)
    return _repeat(program, query, sink)


def _repeat(program: Program, query: Query, sink: SinkJudgement) -> AfterKill:
    """Judge the batch that was running, which Spark runs again."""
    again = "Spark runs the unfinished batch again"
    if sink.effect is not None:
        return AfterKill(effects=(sink.effect,), confidence=Confidence.LIKELY, says=sink.why)
    match sink.recognises:
        case Recognises.NO:
            is_code = query.format in {"foreachBatch", "foreach"}
            return AfterKill(
                effects=(Effect.REPEATS,),
                confidence=Confidence.LIKELY if is_code else Confidence.CERTAIN,
                says=f"{again}, and its rows are duplicated.",
            )
        case Recognises.NOT_KNOWN:
            says = f"{again}. Whether its rows are duplicated is not known: {sink.why}"
            return AfterKill(effects=(), confidence=Confidence.UNKNOWN, says=says)
        case Recognises.DEPENDS:
            says = f"{again}. No row is lost or duplicated, if this holds: {sink.why}"
            return AfterKill(effects=(Effect.NONE,), confidence=Confidence.LIKELY, says=says)
        case _:
            says = f"{again}, and the sink recognises it."
            if query.checkpoint is None and not program.is_configured():
                given = "if the options of the query give a fixed checkpointLocation"
                return AfterKill(
                    effects=(Effect.NONE,),
                    confidence=Confidence.LIKELY,
                    says=f"{says[:-1]}, {given}.",
                )
            return _nothing(says)


def _start_over(query: Query, sink: SinkJudgement, faults: frozenset[CheckpointFault]) -> AfterKill:
    """Judge a start without the checkpoint of the run before."""
    is_temporary = CheckpointFault.TEMPORARY in faults
    begins = "Spark starts again from the source's starting position"
    if is_temporary:
        begins = f"When the temporary directory is gone, {begins[0].lower()}{begins[1:]}".replace(
            "spark", "Spark", 1
        )
    read = _starting_position(query)
    effects = _with_sink(read, sink)
    if is_temporary and sink.recognises is Recognises.NO:
        effects = tuple(each for each in Effect if each in {*effects, Effect.REPEATS})
    if not effects:
        says = f"{begins}. Whether rows are duplicated is not known: {sink.why}"
        return AfterKill(effects=(), confidence=Confidence.UNKNOWN, says=says)
    loses, repeats = Effect.LOSES in effects, Effect.REPEATS in effects
    does = {
        (True, True): "rows are lost or duplicated, by where that is",
        (True, False): "rows are lost",
        (False, True): "rows are duplicated",
        (False, False): "rows are written again by their key",
    }[(loses, repeats)]
    return AfterKill(effects=effects, confidence=Confidence.LIKELY, says=f"{begins}: {does}.")


def _starting_position(query: Query) -> frozenset[Effect]:
    """Return what a new query does with the rows before its start: read them again, or not."""
    both = frozenset({Effect.LOSES, Effect.REPEATS})
    number = next((n for n, s in enumerate(query.source) if s.name == "readStream"), None)
    if number is None:
        return both
    steps = query.source[number:]
    options, is_open = read_options(steps)
    kind = format_of_reader(steps)
    if kind == "kafka":
        given = options.get("startingoffsets")
        if given is None:
            return both if is_open else frozenset({Effect.LOSES})
        known = {"earliest": Effect.REPEATS, "latest": Effect.LOSES}.get(given.value.known or "")
        return both if known is None else frozenset({known})
    if kind in _KEPT_ON_RESTART or any(step.name == "table" for step in steps):
        begins = [
            options[each] for each in ("startingversion", "startingtimestamp") if each in options
        ]
        return both if begins else frozenset({Effect.REPEATS})
    return both


def _with_sink(read: frozenset[Effect], sink: SinkJudgement) -> tuple[Effect, ...]:
    """Return what becomes of rows that are read again, or not, in a sink."""
    found = set(read)
    if sink.known_by is KnownBy.NUMBER:
        found = {Effect.LOSES}  # batch 0 is taken for the one that is there, or replaces it
    elif sink.known_by is KnownBy.KEY:
        found = found - {Effect.REPEATS} or {Effect.NONE}
    elif sink.recognises is Recognises.NOT_KNOWN:
        found -= {Effect.REPEATS}
    return tuple(each for each in Effect if each in found)


def _fails(says: str) -> AfterKill:
    return AfterKill(effects=(Effect.FAILS,), confidence=Confidence.LIKELY, says=says)


def _nothing(says: str) -> AfterKill:
    return AfterKill(effects=(Effect.NONE,), confidence=Confidence.CERTAIN, says=says)
