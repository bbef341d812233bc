"""What a step does, in one sentence."""

from __future__ import annotations

from typing import assert_never

from holdfast.ledger.output import EmptyOutput, ExchangeOutput, KeepOutput, Output, RestoreOutput
from holdfast.plan.steps import (
    CopyTree,
    DiscardTree,
    PutFile,
    RemoveFile,
    RemoveTree,
    RestoreFile,
    SettleSink,
    Step,
)
from holdfast.storage.location import parse_location


def describe(step: Step) -> str:
    """Say what a step does."""
    match step:
        case PutFile() | RemoveFile() | RestoreFile():
            return f"{_verb(step)} {_shown(step.place, step.path)}"
        case CopyTree():
            return f"Copy {step.files:,} files from {step.source} to {step.target}"
        case RemoveTree():
            return f"Remove the copy {step.target}"
        case DiscardTree():
            return f"Delete {step.files:,} files below {step.place} for good"
        case SettleSink():
            return _settle(step)
        case _:
            assert_never(step)


def _verb(step: PutFile | RemoveFile | RestoreFile) -> str:
    match step:
        case PutFile():
            return "Create" if step.replaces is None else "Replace (a copy is kept)"
        case RemoveFile():
            return "Remove (a copy is kept)"
        case RestoreFile():
            return "Put back"


def _settle(step: SettleSink) -> str:
    row = f"generation {step.new.generation}, batch {step.new.last_batch}"
    if step.new.last_batch < 0:
        row = f"generation {step.new.generation}, no batch yet"
    return f"{_output(step.output, step.sink.label)}; set its ledger row to {row}"


def _output(output: Output, label: str) -> str:
    match output:
        case KeepOutput():
            return f"Keep the rows of {label}"
        case EmptyOutput(kept=kept):
            return f"Empty {label} (its rows are kept: {kept})"
        case RestoreOutput(kept=kept):
            return f"Put the rows of {label} back from {kept}"
        case ExchangeOutput(generation=generation, kept=None):
            return f"Take the rows of generation {generation} out of {label}, and keep them aside"
        case ExchangeOutput(kept=kept):
            return f"Put the rows of {label} back from {kept}; rows of other writers stay"
        case _:
            assert_never(output)


def _shown(place: str, path: str) -> str:
    """Return a path with the name of the directory that it is in."""
    location = parse_location(place)
    above = location.parent
    name = location.name
    if above is not None and above.name == "_holdfast":
        name = f"_holdfast/{name}"
    return f"{name}/{path}"
