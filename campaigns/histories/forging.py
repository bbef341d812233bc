"""A plan file that was edited: its steps delete what no plan of its goal touches."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from campaigns.histories.describe import first_line, read_tree
from campaigns.histories.machine import Machine
from campaigns.histories.model import Wrong
from holdfast.apply.apply import apply_plan
from holdfast.errors import HoldfastError
from holdfast.plan.plan_file import decode_plan, encode_plan
from holdfast.plan.steps import RemoveTree
from holdfast.plan.trees import list_files
from holdfast.storage.open import open_reader


def apply_forged(machine: Machine, victim: Path) -> None:
    """Apply the last plan with its steps replaced by one that deletes a directory.

    Raises:
        FoundError: Something was deleted.
    """
    if machine.plan is None:
        return
    (plan, _, _), machine.plan = machine.plan, None
    step = RemoveTree(
        stream=plan.stream,
        source=f"{machine.main.root}/_holdfast/{plan.stream}/snapshots/none",
        target=str(victim),
        fingerprint=list_files(open_reader(str(victim))).fingerprint,
        why="It was written by hand.",
    )
    roots = () if str(victim).startswith(machine.main.root) else (str(victim),)
    given = {"steps": (step,), "preconditions": (), "needs": (), "roots": roots}
    before = _files(machine.home)
    try:
        forged = msgspec.structs.replace(plan, **given)
        apply_plan(decode_plan(encode_plan(forged), "plan.json"), machine.stores(), allowed=())
    except HoldfastError as error:
        machine.tell(f"forged plan: {first_line(error)}")
    gone = sorted(set(before) - set(_files(machine.home)))
    if gone:
        shown = os.path.relpath(gone[0], machine.home)
        machine.fail(Wrong("forged", f"{len(gone)} files were deleted, {shown} among them"))


def _files(home: Path) -> dict[str, object]:
    found: dict[str, object] = {}
    read_tree(str(home), found)
    return found
