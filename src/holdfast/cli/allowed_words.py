"""The words of `--allow`: one that allows nothing is a mistake, and is told from one that lacks."""

from __future__ import annotations

from collections.abc import Collection
from difflib import get_close_matches

from holdfast.errors import ConfigError
from holdfast.plan.plan_file import Plan
from holdfast.plan.steps import Permission


def check_words(plan: Plan, allowed: Collection[str]) -> None:
    """Refuse a word that no plan could need: it was meant to be another.

    Raises:
        ConfigError: One is not WORD:STREAM, with a word that there is and a stream of the plan.
    """
    known = [f"{kind}:{stream}" for stream in _streams(plan) for kind in Permission]
    for word in sorted(allowed):
        if word not in known:
            needed = ", ".join(plan.words) or "nothing"
            raise ConfigError(
                f"--allow {word} allows nothing here: {_say_why(word, plan)}."
                f"{_say_meant(word, plan, known)} The plan needs: {needed}."
            )


def _say_why(word: str, plan: Plan) -> str:
    kind, _, stream = word.partition(":")
    if kind not in list(Permission):
        return f"there is no permission {kind!r}"
    if not stream:
        return "it names no stream"
    return f"the plan does not change a stream {stream}, but {', '.join(_streams(plan))}"


def _streams(plan: Plan) -> tuple[str, ...]:
    """Return the streams that a word can name; of a backfill, the one that goes on meanwhile."""
    return plan.streams if plan.beside is None else (plan.beside,)


def _say_meant(word: str, plan: Plan, known: list[str]) -> str:
    meant = get_close_matches(word, [*plan.words, *known], n=1)
    return f" Did you mean --allow {meant[0]}?" if meant else ""
