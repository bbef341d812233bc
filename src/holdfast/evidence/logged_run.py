"""What the last run of a plain query was, as Spark's event log tells it: in place of a contract."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set

import msgspec

from holdfast.evidence.last_run import LastRun, match_sources
from holdfast.evidence.query_to_start import QueryToStart
from holdfast.evidence.session_settings import UNPINNED
from holdfast.formats.event_log.history import EventLog, EventLogHistory, NotReadLog, QueryRun
from holdfast.record.contracts import Contract
from holdfast.sources.registry import describe_source
from holdfast.storage.location import normal
from holdfast.wording import batch_range

WITHOUT_PLACE = ("ConsoleTable", "ForeachBatchSink", "MemorySink", "NoopTable")
"""Sinks that Spark describes by their kind, and that have no place of their own."""
_AT = re.compile(r"(\w+)\[(.*)\]", re.DOTALL)
_KIND = re.compile(r"(?:.*[.$])?(\w+)\$?(?:@[0-9a-f]+)?")


def sink_text(description: str) -> str:
    """Return a sink as Spark describes it, the same for every run: `DeltaSink[s3://lake/orders]`."""
    if found := _AT.fullmatch(description):
        return f"{found[1]}[{normal(found[2])}]"
    kind = _KIND.fullmatch(description)
    return kind[1] if kind else description


def run_in_log(
    log: EventLog, query: QueryToStart, *, set_here: Set[str], newest_committed: int
) -> LastRun | str:
    """Return what the log tells of the last run of a query, or why it tells nothing.

    Args:
        log: As it was read.
        query: The one of the program.
        set_here: Settings that the session of the program sets, of those that Spark does not pin.
        newest_committed: The newest batch that the checkpoint has committed; -1 without any.
    """
    if isinstance(log, NotReadLog):
        return f"The event log could not be read: {log.why}."
    run = next((each for each in reversed(log.runs) if each.sink is not None), None)
    if run is None:
        return f"The event log at {log.location} has no batch of this query."
    return _LoggedRun(run, query, set_here).compare(tuple(_later(log, newest_committed)))


def _later(log: EventLogHistory, newest_committed: int) -> Iterator[str]:
    """Say which batches another run may have made, that is not in the log."""
    last = max(max(each.last_batch or 0, each.begun_batch or 0) for each in log.runs)
    if newest_committed > last:
        ran = batch_range(last + 1, newest_committed)
        yield f"The run that made {ran} is not in the event log, and was not compared."


class _LoggedRun(msgspec.Struct, frozen=True):
    """A run in the log, beside the query of a program."""

    run: QueryRun
    query: QueryToStart
    set_here: Set[str]

    @property
    def _now(self) -> Contract:
        return self.query.now

    @property
    def _has_same_operators(self) -> bool:
        return self.run.operators == self._now.operators

    def compare(self, also: tuple[str, ...]) -> LastRun:
        described = [(each, describe_source(each)) for each in self.run.sources]
        sources = match_sources(self._now, described, where="the event log")
        places, of_sink = self._sink()
        settings, of_settings = self._settings()
        parts, of_state = self._parts()
        contract = msgspec.structs.replace(
            self._now,
            sources=sources.names,
            source_options=sources.options,
            sink_places=places,
            settings=settings,
            spark=self.run.spark or self._now.spark,
            operators=self.run.operators or (),
            operator_keys=self._now.operator_keys if self._has_same_operators else (),
            operator_parts=parts,
            operator_not_null=(),
            output_mode=self.run.output_mode or self._now.output_mode,
            watermarks=self._now.watermarks if self.run.plan is None else self.run.plan.watermarks,
        )
        said = (*also, *sources.unknown, *of_sink, *of_settings, *of_state, *self._of_plan())
        return LastRun(contract=contract, unknown=said, where=f"event log, {self.run.application}")

    def _sink(self) -> tuple[tuple[object, ...], list[str]]:
        """Return where the last run wrote, in the form of the program's, and what is not known."""
        was = sink_text(self.run.sink or "")
        here = self._now.sink_places
        if not here:
            return (), [
                f"The sink is {was} in the event log; what the program writes is not known."
            ]
        is_placed = "[" in was or was in WITHOUT_PLACE
        if was == here[0].place and not is_placed:
            return here, [f"The sink is {was} in the event log, which does not say its place."]
        return (msgspec.structs.replace(here[0], place=was),), []

    def _settings(self) -> tuple[dict[str, str], list[str]]:
        logged, now = self.run.settings, self._now.settings
        if not self.run.has_session_settings:
            said = (
                "The event log does not have the settings of the session: they were not compared."
            )
            return {**now}, [said]
        known = {name: logged[name] for name in UNPINNED if name in logged}
        unknown = sorted(name for name in self.set_here if name not in known)
        return {**now, **known}, [
            f"{name} is {now.get(name)} here and not in the event log: the last run had the "
            "default of its Spark."
            for name in unknown
        ]

    def _parts(self) -> tuple[tuple[tuple[str, ...] | None, ...], list[str]]:
        """Return what state was computed from, where the log has the same, and where it has not."""
        if not self._has_same_operators:
            was, now = (
                ", ".join(each) or "none"
                for each in (self.run.operators or (), self._now.operators)
            )
            return (), [
                f"The stateful operators were {was} and are {now}: their state was not compared."
            ]
        printed = {} if self.run.plan is None else self.run.plan.parts
        parts, unknown = [], []
        for number, own in enumerate(self._now.operator_parts):
            planned = self.query.state[number]
            is_same = planned is not None and printed.get(number) == planned.printed
            parts.append(own if is_same else None)
            if own is not None and not is_same:
                name = self._now.operators[number]
                unknown.append(
                    f"What operator {number} ({name}) computes is not the same text in the plan of "
                    "the event log, or not in it: whether it was changed is not known."
                )
        return tuple(parts), unknown

    def _of_plan(self) -> Iterator[str]:
        if not self._now.operators:
            return  # neither changes what a query without state writes
        if self.run.output_mode is None:
            yield "The event log does not say the output mode."
        if self.run.plan is None:
            yield "The event log does not say the watermarks."
