"""Follows what a refusal prints, as an operator would, until the stream starts."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from campaigns.histories.change import Change
from campaigns.histories.describe import first_line
from campaigns.histories.machine import MAIN, Machine
from campaigns.histories.model import StreamAccount, Wrong
from campaigns.histories.repairing import ENDED, apply_last, go_on, make, take_back
from holdfast.errors import HoldfastError
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.requests import Request

ROUNDS = 6
NESTED = 2
"""How often a refusal of what a refusal said is followed."""
_COMMAND = re.compile(r"holdfast (plan|apply|undo) ([^`\n]*)")
_VALUED = {
    "--root": "root",
    "--from": "start",
    "--output": "output",
    "--to-batch": "batch",
    "--batches": "batches",
    "--snapshot": "target",
    "-o": "file",
}


@dataclass(frozen=True)
class Command:
    """A command that was printed."""

    verb: str
    words: tuple[str, ...]
    options: tuple[tuple[str, str], ...]


def find_commands(text: str) -> list[Command]:
    """Return the commands that a text names, in their order."""
    parts = text.replace("holdfast ", "\nholdfast ")  # two can be in one sentence
    return list(dict.fromkeys(_parse(each[1], each[2]) for each in _COMMAND.finditer(parts)))


def _parse(verb: str, rest: str) -> Command:
    try:
        words = shlex.split(rest)
    except ValueError:
        words = rest.split()
    plain: list[str] = []
    options: dict[str, str] = {}
    waiting = iter(words)
    for word in waiting:
        if word in _VALUED:
            options[_VALUED[word]] = next(waiting, "").rstrip(".,")
        elif word.startswith("--"):
            options[word.rstrip(".,")] = ""
        elif len(plain) < (2 if verb == "plan" else 1) and not options:
            plain.append(word.rstrip(".,"))
        else:
            break
    return Command(verb, tuple(plain), tuple(options.items()))


def follow(machine: Machine, stream: StreamAccount) -> None:
    """Start a stream, and do what each refusal says until it runs.

    Raises:
        FoundError: Nothing that was printed leads to a start.
    """
    if stream.name != MAIN:
        error = machine.run(stream)
        if error is not None:
            said = f"{stream.name} is not started any more: {first_line(error)}"
            machine.fail(Wrong("harmed", said))
        return
    tried: set[Command] = set()
    for _ in range(ROUNDS):
        if machine.main.is_retired:
            return
        error = machine.run(machine.main)
        if error is None or _is_retiring(machine):
            return
        text = f"{error} {error.how}" if isinstance(error, HoldfastError) else str(error)
        commands = [each for each in find_commands(text) if each not in tried]
        for command in commands:
            tried.add(command)
            if obey(machine, command):
                break
        else:
            break
    assert error is not None
    said = first_line(error)
    machine.fail(Wrong("locked-out", f"{stream.name} does not start, and nothing helps: {said}"))


def _is_retiring(machine: Machine) -> bool:
    """Return whether the stream is ended for good, by a plan that was only cut short."""
    return machine.pending is not None and machine.pending.goal == "retire"


def obey(machine: Machine, command: Command, *, depth: int = 0) -> bool:
    """Run a command that was printed, and what its own refusal prints; return whether one did."""
    machine.tell(f"told to: holdfast {command.verb} {' '.join(command.words)} {command.options}")
    machine.forget_refusal()
    if command.verb == "plan":
        is_done, text = _plan(machine, command)
    else:
        is_done, text = _go_on_or_back(machine, command), ""
    if machine.refusal is not None:
        text += f" {machine.refusal.how}"
    if "Start the stream as before" in text:
        return True  # the plan is closed, and the next round starts it
    return is_done or (
        depth < NESTED and any(obey(machine, each, depth=depth + 1) for each in find_commands(text))
    )


def _go_on_or_back(machine: Machine, command: Command) -> bool:
    change = _change_at(machine, command.words[0] if command.words else "")
    if change is None:
        return False
    act = go_on if command.verb == "apply" else take_back
    return act(machine, change) == ENDED


def _plan(machine: Machine, command: Command) -> tuple[bool, str]:
    """Plan and apply; return whether it was done, and what was said instead."""
    options = dict(command.options)
    request = Request(
        goal=command.words[0],
        start=options.get("start", ""),
        output=options.get("output", "restore"),
        batch=int(options["batch"]) if options.get("batch", "").isdecimal() else None,
        batches=int(options.get("batches", "1")),
        target=options.get("target", ""),
    )
    found = make(machine, request)
    if isinstance(found, Plan):
        return apply_last(machine) == ENDED, ""
    return False, found.nearest if isinstance(found, NoPlan) else found.how


def _change_at(machine: Machine, journal: str) -> Change | None:
    wanted = journal.removeprefix("file:")
    for each in machine.changes:
        if each.journal.removeprefix("file:") == wanted:
            return each
    return None
