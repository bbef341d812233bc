"""What becomes of the rows of one sink: in words, and when the step that changed it is undone."""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

import msgspec

from holdfast.ledger.output import (
    EmptyOutput,
    ExchangeOutput,
    KeepOutput,
    Output,
    RestoreOutput,
)
from holdfast.ledger.store import LedgerStore, Since
from holdfast.plan.steps import SettleSink


def describe_output(output: Output, label: str, *, versions: bool = False) -> str:
    """Say what becomes of the rows of a sink.

    Args:
        output: What becomes of them.
        label: The sink.
        versions: Whether a number is called what it is: a version of the table.
    """
    named = getattr(output, "kept", None)
    shown = f"version {named}" if versions and str(named).isdecimal() else named
    match output:
        case KeepOutput():
            return f"Keep the rows of {label}"
        case EmptyOutput():
            return f"Empty {label} (its rows are kept: {shown})"
        case RestoreOutput():
            return f"Put the rows of {label} back from {shown}"
        case ExchangeOutput(generation=generation, kept=None):
            return f"Take the rows of generation {generation} out of {label}, and keep them aside"
        case ExchangeOutput():
            return f"Put the rows of {label} back from {shown}; rows of other writers stay"
        case _:
            assert_never(output)


class SinkGoingBack(msgspec.Struct, frozen=True, kw_only=True):
    """One sink that goes back."""

    step: SettleSink
    ledger: LedgerStore
    aside: str
    has_run: bool
    """Whether the stream has written batches since the plan."""

    def find(self, since: Since, *, opens: bool) -> Output | str:
        """Return what becomes of its rows, or why nothing can.

        Args:
            since: What has happened since the generation was opened.
            opens: Whether the plan opened a generation.
        """
        if is_kept(self.step, has_run=self.has_run):
            return KeepOutput()
        kept = self._kept()
        if not opens:
            return KeepOutput() if kept is None else RestoreOutput(kept=kept, aside=self._now())
        if since.unclear:
            return since.unclear
        is_overwritten = kept is None and bool(self.step.sink.keys)
        if is_overwritten and not self.ledger.keeps_versions:
            return (
                f"generation {self.step.new.generation} has written over rows, and what they were "
                "is not kept"
            )
        return ExchangeOutput(
            generation=self.step.new.generation,
            kept=kept,
            aside=self._now(),
            rows=since.own_rows,
        )

    def _now(self) -> str:
        """Return the name under which the rows are kept that are there now."""
        if not self.ledger.keeps_versions:
            return self.aside
        return self.ledger.table_version(self.step.stream) or self.aside

    def _kept(self) -> str | None:
        """Return where the rows are that were there before the step; None if it took none away."""
        step, before = self.step, None
        match step.output:
            case KeepOutput():
                return None
            case EmptyOutput():
                kept = step.output.kept
            case RestoreOutput() | ExchangeOutput():
                kept = step.output.aside
        if self.ledger.keeps_versions:
            # Another writer may have added rows after the plan was made: its version lacks them.
            before = self.ledger.version_before(
                step.stream, generation=step.new.generation, batch=step.new.last_batch
            )
        return before or kept


def is_kept(step: SettleSink, *, has_run: bool) -> bool:
    """Return whether a sink can stay as it is.

    Nothing was taken from it, and nothing came since; or what came is read again, and of two rows
    with one key the newer stays, whichever comes last.
    """
    sink = step.sink
    converges = bool(sink.keys) and sink.sequence_by is not None
    return isinstance(step.output, KeepOutput) and (not has_run or converges)


def tell_output(step: SettleSink, output: Output, since: Since) -> Iterable[str]:
    """Yield what becomes of a sink, and what others have done to it."""
    label = step.sink.label
    match output:
        case KeepOutput():
            yield f"{label} keeps its rows"
        case RestoreOutput():
            yield f"{label} gets its rows back from {output.kept}"
        case ExchangeOutput():
            if since.own_rows != 0:
                rows = "the rows" if since.own_rows is None else f"{since.own_rows:,} rows"
                yield f"{label} loses {rows} of generation {output.generation}: read again then"
            if output.kept is not None:
                yield f"{label} gets its rows back from {output.kept}"
        case EmptyOutput():
            pass
    for each in since.others:
        yield f"since then, {each}; that stays" if isinstance(output, ExchangeOutput) else each
