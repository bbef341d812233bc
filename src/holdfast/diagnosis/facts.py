"""The nine facts of a stream, collected before any advice; each with where it was read.

What is not known says how to find it out. The order and the numbers are always the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from holdfast.checkpoint.metadata import QueryMetadata
from holdfast.checkpoint.offsets import PARTITIONS
from holdfast.evidence.case import Case
from holdfast.evidence.guard_record import GuardRecord
from holdfast.evidence.history import find_pauses
from holdfast.evidence.outputs.output import NotRead
from holdfast.evidence.progress import find_progress
from holdfast.evidence.wording import ago, count, describe_position, duration, versions
from holdfast.record.runs import FAILED, RUNNING

_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_SHORTEST_PAUSE = timedelta(minutes=1)
_IN_CODE = "Look at writeStream in the program"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One fact."""

    number: int
    name: str
    value: str | None
    """None when it is not known."""
    where: str
    """Where it was read; of one that is not known, how to find it out."""


def find_facts(case: Case) -> tuple[Fact, ...]:
    """Return the nine facts, and for how long a resume is lossless where a source was probed."""
    found = (
        _location(case),
        _query_id(case),
        _offsets(case),
        _sink(case),
        _output_mode(case),
        _operators(case),
        _provider(case),
        _spark(case),
        _restarts(case),
    )
    facts = (
        Fact(number=number, name=name, value=value, where=where)
        for number, (name, value, where) in enumerate(found, start=1)
    )
    return (*facts, *_left(case))


_Found = tuple[str, str | None, str]
"""Name, value, where it was read."""


def _location(case: Case) -> _Found:
    value, record = str(case.checkpoint.location), case.record
    if record is not None:
        value += f" (generation {record.generation.number} of {record.stream})"
    return "checkpoint", value, "as given" if record is None else record.generation.path


def _query_id(case: Case) -> _Found:
    found = case.checkpoint.metadata
    if isinstance(found, QueryMetadata):
        return "query id", found.query_id, "metadata"
    return "query id", None, "The driver's log prints it at every start: `[id = …`"


def _offsets(case: Case) -> _Found:
    name, progress = "source offsets", find_progress(case.checkpoint)
    if not progress.sources:
        return name, None, "There is no readable entry in offsets/"
    shown = "; ".join(describe_position(each) for each in progress.sources)
    return name, shown, f"offsets/{progress.planned[-1]}"


def _sink(case: Case) -> _Found:
    if case.stream is not None and case.stream.sinks:
        held = (f"{each.shown} ({_held(each.last_batch)})" for each in case.stream.sinks)
        return "sink", ", ".join(held), "ledgers"
    looked = [each.shown for each in case.outputs if not isinstance(each, NotRead)]
    if looked:
        return "sink", ", ".join(looked), "--sink"
    named = find_progress(case.checkpoint).sinks
    if named:
        shown = ", ".join(f"{each.name} ({each.provider or 'unknown class'})" for each in named)
        return "sink", shown, f"commits/{case.newest_committed}"
    return "sink", None, f"A checkpoint does not say. {_IN_CODE}, and name it with --sink"


def _held(batch: int | None) -> str:
    return "no batch known" if batch is None else f"batch {batch}"


def _output_mode(case: Case) -> _Found:
    contract = case.record.contract if case.record else None
    if contract is not None:
        return "output mode", contract.output_mode, "contract"
    return "output mode", None, f"A checkpoint does not say. {_IN_CODE}"


def _operators(case: Case) -> _Found:
    name, checkpoint = "stateful operators", case.checkpoint
    if checkpoint.state:
        names = [each.name or "unnamed" for each in checkpoint.state]
        entry = checkpoint.newest_readable
        pinned = entry.metadata.conf.get(PARTITIONS) if entry and entry.metadata else None
        partitions = f", {pinned} partitions" if pinned else ""
        shown = f"{count(len(names), 'operator')}: {', '.join(names)}{partitions}"
        return name, shown, "state/"
    contract = case.record.contract if case.record else None
    if contract is not None:
        return name, ", ".join(contract.operators) or "none", "contract"
    if checkpoint.offsets:
        return name, "none: there is no state/", "the checkpoint's directories"
    return name, None, "No batch has run yet"


def _provider(case: Case) -> _Found:
    entry = case.checkpoint.newest_readable
    provider = entry.metadata.conf.get(_PROVIDER) if entry and entry.metadata else None
    if entry is not None and provider is not None:
        unused = "" if case.checkpoint.state else " (not used: there is no state)"
        return "state store", provider.rpartition(".")[2] + unused, f"offsets/{entry.batch_id}"
    return "state store", None, "spark.sql.streaming.stateStore.providerClass of the session"


def _spark(case: Case) -> _Found:
    run = case.record.run if case.record else None
    if run is not None:
        return "Spark", run.spark, run.path
    writers = case.overview.writers if case.overview else None
    if writers is not None and writers.versions:
        shown = versions(writers.versions).removeprefix("Spark ")
        return "Spark", f"{shown}, judged by the format", writers.follows_from[0]
    return "Spark", None, "spark.version in the program, or the first lines of the driver's log"


def _restarts(case: Case) -> _Found:
    record = case.record
    if record is not None and record.run is not None and record.lease is not None:
        run = record.run
        ended = {RUNNING: _say_unended(record), FAILED: f"failed with {run.error}"}
        shown = f"{count(record.lease.epoch, 'start')}; the newest began {run.started_at}"
        return "restarts", f"{shown}, {ended.get(run.ended, run.ended)}", run.path
    newest = find_progress(case.checkpoint).newest_ms
    if newest is None:
        return "restarts", None, "Look at the scheduler's history of the job"
    pauses = [each for each in find_pauses(case.checkpoint) if each.lasted >= _SHORTEST_PAUSE]
    longest = ", ".join(f"{duration(each.lasted)} before batch {each.before}" for each in pauses)
    said = f"; longest pauses {longest}" if pauses else ""
    shown = f"not recorded; the newest batch was planned {ago(newest, case.now)}{said}"
    return "restarts", shown, "the times in offsets/"


def _say_unended(record: GuardRecord) -> str:
    """Say what a run is whose end was not recorded."""
    if record.is_running:
        return "it is running: its lease was renewed within its term"
    return "its end was not recorded: it was probably killed"


def _left(case: Case) -> Iterator[Fact]:
    """Yield for how long a resume finds everything, where a probe tells."""
    known = [each for each in case.sources if each.lossless_for is not None]
    if not known:
        return
    first = min(known, key=lambda each: each.lossless_for or timedelta())
    left = first.lossless_for or timedelta()
    gone = "no longer: something is gone already"
    value = f"another {duration(left)}" if left else gone
    where = first.lossless_by or first.shown
    yield Fact(number=10, name="lossless for", value=value, where=where)
