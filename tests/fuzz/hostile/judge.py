"""What a hostile checkpoint must not bring about, whatever it is."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tests.fuzz.hostile.case import Hostile
from tests.fuzz.limits import LIMIT_S
from tests.fuzz.runs import named_in
from tests.fuzz.sandbox import Ran, Witnessed, witness
from tests.fuzz.trials import Failure

MOST_GROWN_BYTES = 600 << 20
SECRET = "what nobody may read"
CODES = (0, 3)
"""Done, and not judged: the only ones that `inspect` has for a checkpoint it may read."""


def try_hostile(case: Hostile, place: Path) -> Failure | None:
    """Make a hostile checkpoint in an empty directory, inspect it, and say what went wrong."""
    outside = place / "outside"
    outside.mkdir()
    (outside / "canary").write_text(SECRET)
    if case.in_memory:
        seen = witness(case.make())
    else:
        case.build(place / "checkpoint")
        seen = witness(place / "checkpoint")
    left = {path.name for path in outside.iterdir()}
    # Directories can lie in each other more deeply than Python can remove them.
    subprocess.run(["rm", "-rf", str(place)], check=True)
    wrong = [*judge(case, seen), *(f"made {name}" for name in left - {"canary"})]
    return Failure(case=f"hostile:{case.name}", why="; ".join(wrong)) if wrong else None


def judge(case: Hostile, seen: Witnessed) -> Iterator[str]:
    """Yield everything that is wrong with what a process did."""
    if seen.stuck:
        yield "is stuck"
        return
    if not case.in_memory and not seen.opened_inside:
        yield "nothing was seen: is it watched?"
    yield from (f"touched: {each}" for each in seen.touched)
    if seen.grown_bytes > MOST_GROWN_BYTES:
        yield f"grew by {seen.grown_bytes >> 20} MB"
    for form, ran in seen.runs.items():
        yield from (f"{form}: {each}" for each in _judge_run(ran))
    if text := seen.runs.get("text"):
        said = text.output + text.errors
        yield from (f"does not show {each!r}" for each in case.shows if each not in said)
        yield from (f"text: steers the terminal: {line!r:.120}" for line in _steering(text.output))
    if document := seen.runs.get("json"):
        yield from _judge_document(case, document)


def _judge_document(case: Hostile, ran: Ran) -> Iterator[str]:
    try:
        said = msgspec.json.decode(ran.output or "{}")
        named = named_in(said) if "leftovers" in said else {}
    except msgspec.DecodeError:
        yield "json: is no JSON"
        return
    # Where nothing at all can be said, the error names what is in the way.
    unnamed = [path for path in case.names if path not in named and path not in ran.errors]
    yield from (f"does not name {path}" for path in unnamed)


def _judge_run(ran: Ran) -> Iterator[str]:
    if ran.exit_code not in CODES:
        yield f"left with {ran.exit_code}: {ran.errors[-600:]}"
    if ran.cpu_seconds > LIMIT_S:
        yield f"took {ran.cpu_seconds:.1f} s"
    if SECRET in ran.output + ran.errors:
        yield "shows what is outside"
    yield from (f"errors: steer the terminal: {line!r:.120}" for line in _steering(ran.errors))


def _steering(text: str) -> Iterator[str]:
    return (line for line in text.split("\n") if not line.isprintable())
