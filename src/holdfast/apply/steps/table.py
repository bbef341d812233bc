"""Every kind of step, by the class of its data."""

from __future__ import annotations

from typing import Any

from holdfast.apply.steps.by_hand import ByHandSteps
from holdfast.apply.steps.files import FileSteps
from holdfast.apply.steps.held import HeldSteps
from holdfast.apply.steps.kind import StepKind
from holdfast.apply.steps.ranges import RangeSteps
from holdfast.apply.steps.sinks import SinkSteps
from holdfast.apply.steps.trees import TreeSteps
from holdfast.plan.steps import (
    ByHand,
    CopyTree,
    DiscardTree,
    FillTree,
    HoldTree,
    PutFile,
    RemoveFile,
    RemoveTree,
    RestoreFile,
    SettleSink,
    Step,
    WriteRange,
)

_FILES, _TREES, _HELD, _SINKS = FileSteps(), TreeSteps(), HeldSteps(), SinkSteps()
KINDS: dict[type[Step], StepKind[Any]] = {
    PutFile: _FILES,
    RemoveFile: _FILES,
    RestoreFile: _FILES,
    CopyTree: _TREES,
    RemoveTree: _TREES,
    DiscardTree: _TREES,
    HoldTree: _HELD,
    FillTree: _HELD,
    SettleSink: _SINKS,
    ByHand: ByHandSteps(),
    WriteRange: RangeSteps(),
}


def kind_of(step: Step) -> StepKind[Any]:
    """Return what is known of the kind of a step."""
    return KINDS[type(step)]


def describe(step: Step) -> str:
    """Say what a step does, in one sentence."""
    return kind_of(step).describe(step)
