"""A damaged file through its own parser: a value of the declared types, in time."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.checkpoint.unparsed import Unparsed
from tests.fuzz.damages import Damage
from tests.fuzz.limits import LIMIT_S, TookTooLongError, time_limit
from tests.fuzz.shapes import fits
from tests.fuzz.specimens import Specimen


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A case that went wrong; its name repeats it."""

    case: str
    why: str


def try_parser(specimen: Specimen, damage: Damage) -> Failure | None:
    """Say what is wrong with what a parser makes of a damaged file."""
    why = _judge(specimen, damage.apply(specimen.raw))
    return None if why is None else Failure(case=f"parser:{specimen.name}:{damage}", why=why)


def _judge(specimen: Specimen, damaged: bytes) -> str | None:
    try:
        with time_limit():
            found = list(specimen.parser.parse(specimen.path, damaged))
    except TookTooLongError:
        return f"took more than {LIMIT_S} s"
    except Exception as error:  # noqa: BLE001 - any at all is the failure
        return f"raised {type(error).__name__}: {error}"
    return next((why for each in found if (why := judge_value(specimen, each)) is not None), None)


def judge_value(specimen: Specimen, value: object) -> str | None:
    """Say what is wrong with one value that a parser gave."""
    if not fits(value, specimen.parser.types):
        return f"returned {value!r:.200}"
    if isinstance(value, Unparsed) and (value.path != specimen.path or not value.reason):
        return f"does not name the file: {value!r:.200}"
    return None
