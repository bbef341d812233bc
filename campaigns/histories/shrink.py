"""Makes a failing history short: operations are dropped while it still fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from campaigns.histories.history import History, Op, SinkShape
from campaigns.histories.play import Played

Play = Callable[[History], Played]
MOST_PLAYS = 150


def shrink(history: History, kind: str, play: Play) -> History:
    """Return a shorter history that fails in the same way."""
    best, left, is_shorter = history, MOST_PLAYS, True
    while is_shorter and left > 0:
        is_shorter = False
        for shorter in _shorter(best):
            left -= 1
            if play(shorter).kind == kind:
                best, is_shorter = shorter, True
                break
            if left <= 0:
                break
    return best


def _shorter(history: History) -> Iterator[History]:
    ops = history.ops
    for size in (4, 2, 1):
        for at in range(len(ops) - size, -1, -1) if len(ops) >= size else ():
            yield replace(history, ops=(*ops[:at], *ops[at + size :]))
    yield from _with_simpler_sinks(history)
    for at, op in enumerate(ops):
        for simpler in _simpler(op):
            yield replace(history, ops=(*ops[:at], simpler, *ops[at + 1 :]))


def _with_simpler_sinks(history: History) -> Iterator[History]:
    sinks = history.sinks
    for at in range(len(sinks)) if len(sinks) > 1 else ():
        yield replace(history, sinks=sinks[:at] + sinks[at + 1 :])
    if history.files_per_batch > 1:
        yield replace(history, files_per_batch=1)
    if not history.is_repeatable:
        yield replace(history, is_repeatable=True)
    for at, sink in enumerate(sinks):
        if sink.by_key:
            plain = SinkShape(versions=sink.versions)
            yield replace(history, sinks=(*sinks[:at], plain, *sinks[at + 1 :]))


def _simpler(op: Op) -> Iterator[Op]:
    for key in ("kill", "intrude", "follow", "outputs"):
        if key in op:
            yield {name: value for name, value in op.items() if name != key}
    for key in ("files", "which", "table", "back", "batches"):
        least = 1 if key == "batches" else 0
        if op.get(key, least) > least:
            yield {**op, key: op[key] - 1}


def signature(history: History, played: Played) -> str:
    """Return what tells one hole from another: its kind, and what was done, in short."""
    words = []
    for op in history.ops:
        said = op.get("goal") or op.get("what") or ""
        if op["do"] == "plan":
            output = "/".join(op["outputs"]) if "outputs" in op else op.get("output")
            words.append(" ".join(filter(None, (said, op.get("start"), output))))
        elif op["do"] != "apply" or "kill" in op or "intrude" in op:
            more = "killed" if "kill" in op else "intruded" if "intrude" in op else ""
            words.append(" ".join(filter(None, (op["do"], said, more))))
    shape = "+".join(
        f"{'versions' if each.versions else 'copies'}"
        f"{' by key' if each.by_key else ''}{' sequenced' if each.sequenced else ''}"
        for each in history.sinks
    )
    return f"{played.kind} [{shape}] {', '.join(words)}"
