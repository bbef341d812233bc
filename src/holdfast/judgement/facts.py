"""The nine facts of a stream, collected before any advice; each with where it was read.

What is not known says how to find it out. The order and the numbers are always the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.offsets import PARTITIONS
from holdfast.evidence.case import Case
from holdfast.evidence.progress import find_progress
from holdfast.evidence.wording import describe_position, versions
from holdfast.judgement.event_log_facts import (
    PROVIDER,
    confirm_offsets,
    offsets_in_log,
    operator_names_in_log,
    operators_in_log,
    output_mode_in_log,
    provider_in_log,
    query_id_in_log,
    sink_in_log,
    spark_in_log,
)
from holdfast.judgement.fact import DRIVER_LOG, Fact, Found, facts_command
from holdfast.judgement.restart_facts import find_restarts
from holdfast.judgement.sink_facts import SinkLogFacts, ask_sinks
from holdfast.lint.query_in_code import NoQuery, QueryInCode, Written
from holdfast.sources.probe import NotProbed
from holdfast.wording import count, duration

_NOT_IN_CHECKPOINT = "A checkpoint does not say. Name the sink with --sink, or the program"
_LOSSLESS, _TRIGGER, _CODE_CHECKPOINT = 10, 11, 12

Code = QueryInCode | NoQuery | None
"""What the program says of the query; None when it was not named."""


def find_facts(case: Case, code: Code = None) -> tuple[Fact, ...]:
    """Return the nine facts, and after them what a probe or the program tells besides.

    Args:
        case: What is known.
        code: What the program says of the query; None when it was not named.
    """
    sinks = ask_sinks(case)
    found = (
        _location(case),
        _query_id(case),
        _offsets(case),
        _sink(case, sinks, code),
        _output_mode(case, sinks, code),
        _operators(case),
        _provider(case),
        _spark(case, sinks),
        find_restarts(case, sinks),
    )
    facts = (_number(number, each) for number, each in enumerate(found, start=1))
    return (*facts, *_left(case), *_of_code(code))


def _number(number: int, found: Found) -> Fact:
    return Fact(
        number=number,
        name=found.name,
        value=found.value,
        where=found.where,
        command=found.command,
    )


def _location(case: Case) -> Found:
    value, record = str(case.checkpoint.location), case.record
    if record is not None:
        value += f" (generation {record.generation.number} of {record.stream})"
    return Found("checkpoint", value, "as given" if record is None else record.generation.path)


def _query_id(case: Case) -> Found:
    found = case.checkpoint.metadata
    if isinstance(found, QueryMetadata):
        return Found("query id", found.query_id, "metadata")
    if logged := query_id_in_log(case, "query id"):
        return logged
    why = "The driver's log prints it at every start"
    return Found("query id", None, why, f"grep -o '\\[id = [0-9a-f-]*' {DRIVER_LOG}")


def _offsets(case: Case) -> Found:
    name, progress = "source offsets", find_progress(case.checkpoint)
    if not progress.sources and (logged := offsets_in_log(case, name)):
        return logged
    if not progress.sources:
        why = "There is no readable entry in offsets/"
        return Found(name, None, why, facts_command(case).replace(" facts ", " diagnose ", 1))
    shown = "; ".join(describe_position(each) for each in progress.sources)
    return Found(name, shown, f"offsets/{progress.planned[-1]}{confirm_offsets(case)}")


def _sink(case: Case, sinks: tuple[SinkLogFacts, ...], code: Code) -> Found:
    written = code.sink if isinstance(code, QueryInCode) else None
    if case.stream is not None and case.stream.sinks:
        held = (f"{each.display_name} ({_held(each.last_batch)})" for each in case.stream.sinks)
        return Found("sink", ", ".join(held), _with_code("ledgers", written))
    if sinks:
        where = ", ".join(dict.fromkeys(each.where for each in sinks))
        return Found(
            "sink", ", ".join(each.display_name for each in sinks), _with_code(where, written)
        )
    named = find_progress(case.checkpoint).sinks
    if named:
        shown = ", ".join(f"{each.name} ({each.provider or 'unknown class'})" for each in named)
        return Found("sink", shown, _with_code(f"commits/{case.newest_committed}", written))
    if logged := sink_in_log(case, "sink"):
        return logged._replace(where=_with_code(logged.where, written))
    return _only_in_code(case, "sink", written=written, code=code)


def _held(batch: int | None) -> str:
    return "no batch known" if batch is None else f"batch {batch}"


def _output_mode(case: Case, sinks: tuple[SinkLogFacts, ...], code: Code) -> Found:
    name = "output mode"
    written = code.output_mode if isinstance(code, QueryInCode) else None
    contract = case.record.contract if case.record else None
    telling = next((each for each in sinks if each.mode is not None), None)
    if contract is not None:
        known, where = contract.output_mode, "contract"
    elif telling is not None and telling.mode is not None:
        known, where = telling.mode, telling.mode_where
    elif logged := output_mode_in_log(case):
        known, where = logged
    else:
        return _only_in_code(case, name, written=written, code=code)
    if written is not None and written.value not in (None, known):
        return Found(name, f"{known}; the code says {written.value}", _with_code(where, written))
    return Found(name, known, _with_code(where, written))


def _with_code(where: str, written: Written | None) -> str:
    """Return where a fact was read, and what the program says of it."""
    if written is None or written.value is None:
        return where
    return f"{where}; {written.place}: {written.value}"


def _only_in_code(case: Case, name: str, *, written: Written | None, code: Code) -> Found:
    """Return a fact that nothing but the program tells."""
    if written is not None and written.value is not None:
        return Found(name, written.value, written.place)
    if written is not None:
        why = f"{written.place}: the code computes it. The sink's own log can tell: --sink"
        return Found(name, None, why, facts_command(case, "--sink LOCATION"))
    if isinstance(code, NoQuery):
        return Found(name, None, code.why, facts_command(case, "--code FILE.py:NAME"))
    return Found(name, None, _NOT_IN_CHECKPOINT, facts_command(case, "--code FILE.py"))


def _operators(case: Case) -> Found:
    name, checkpoint = "stateful operators", case.checkpoint
    if checkpoint.state:
        names, where = _operator_names(case)
        entry = checkpoint.newest_readable
        pinned = entry.metadata.conf.get(PARTITIONS) if entry and entry.metadata else None
        partitions = f", {pinned} partitions" if pinned else ""
        shown = f"{count(len(names), 'operator')}: {', '.join(names)}{partitions}"
        return Found(name, shown, where)
    contract = case.record.contract if case.record else None
    if contract is not None:
        return Found(name, ", ".join(contract.operators) or "none", "contract")
    if logged := operators_in_log(case, name):
        return logged
    if checkpoint.offsets:
        return Found(name, "none: there is no state/", "the checkpoint's directories")
    why = "No batch has run yet. In the program, look for StateStore in the plan"
    return Found(name, None, why, "query.explain()")


def _operator_names(case: Case) -> tuple[list[str], str]:
    """Return the operators of the state; Spark 3.5 writes no names, and its event log has them."""
    state, (logged, where) = case.checkpoint.state, operator_names_in_log(case)
    if logged is not None and len(logged) == len(state) and not any(each.name for each in state):
        return [*logged], f"state/; {where}"
    return [each.name or "unnamed" for each in state], "state/"


def _provider(case: Case) -> Found:
    entry = case.checkpoint.newest_readable
    provider = entry.metadata.conf.get(PROVIDER) if entry and entry.metadata else None
    if entry is not None and provider is not None:
        unused = "" if case.checkpoint.state else " (not used: there is no state)"
        shown = provider.rpartition(".")[2] + unused
        return Found("state store", shown, f"offsets/{entry.batch_id}")
    if logged := provider_in_log(case, "state store"):
        return logged
    why = "No readable entry in offsets/ has it. Ask the session"
    return Found("state store", None, why, f'spark.conf.get("{PROVIDER}")')


def _spark(case: Case, sinks: tuple[SinkLogFacts, ...]) -> Found:
    run = case.record.run if case.record else None
    if run is not None:
        return Found("Spark", run.spark, run.path)
    if logged := spark_in_log(case, "Spark"):
        return logged
    telling = next((each for each in sinks if each.spark is not None), None)
    if telling is not None:
        return Found("Spark", telling.spark, telling.where)
    writers = case.overview.writers if case.overview else None
    if writers is not None and writers.versions:
        shown = versions(writers.versions).removeprefix("Spark ")
        return Found("Spark", f"{shown}, judged by the format", writers.follows_from[0])
    why = "The driver's log begins with it"
    return Found("Spark", None, why, f"grep -m 1 'Running Spark version' {DRIVER_LOG}")


def _left(case: Case) -> Iterator[Fact]:
    """Yield for how long a resume finds everything, where a probe was asked for."""
    name = "lossless for"
    silent = [each for each in case.sources if isinstance(each.found, NotProbed)]
    known = [each for each in case.sources if each.lossless_for is not None]
    first = min(known, key=lambda each: each.lossless_for or timedelta(), default=None)
    if first is not None and (not silent or not first.lossless_for):
        left = first.lossless_for or timedelta()
        value = f"another {duration(left)}" if left else "no longer: something is gone already"
        where = first.lossless_by or first.display_name
        yield Fact(number=_LOSSLESS, name=name, value=value, where=where)
    for each in silent:
        if isinstance(each.found, NotProbed):
            where = f"{each.display_name}: {each.found.why}"
            yield Fact(number=_LOSSLESS, name=name, value=None, where=where)


def _of_code(code: Code) -> Iterator[Fact]:
    """Yield what the program says and no log has."""
    if not isinstance(code, QueryInCode):
        return
    other = " (another than this one)" if code.is_other else ""
    for number, name, each, more in (
        (_TRIGGER, "trigger", code.trigger, ""),
        (_CODE_CHECKPOINT, "checkpoint in code", code.checkpoint, other),
    ):
        value = None if each.value is None else f"{each.value}{more}"
        where = each.place if value is not None else f"{each.place}: the code does not say it"
        yield Fact(number=number, name=name, value=value, where=where)
