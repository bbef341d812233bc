"""Cuts an answer that is too long for a model, and says what was left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

MOST_CHARACTERS = 60_000
"""Of one answer, as JSON."""
_STEPS = ((500, 20_000), (100, 4_000), (40, 2_000), (15, 1_000), (5, 400), (2, 150))
"""How many items of a list, and characters of a text, are kept; the first that fits is taken."""
_MOST_NOTES = 25
_KEPT_FIELDS = ("format", "version", "holdfast", "verdict", "summary", "code", "what", "why", "how")


class _Cut(msgspec.Struct):
    items: int
    characters: int
    notes: list[str] = msgspec.field(default_factory=list)

    def value(self, found: object, path: str = "") -> object:
        if isinstance(found, str):
            return self._text(found, path)
        if isinstance(found, list):
            self._note(len(found), path)
            kept = found[: self.items]
            return [self.value(each, f"{path}[{at}]") for at, each in enumerate(kept)]
        if isinstance(found, dict):
            self._note(len(found), path)
            first = list(found.items())[: self.items]
            return {str(key): self.value(each, _below(path, str(key))) for key, each in first}
        return found

    def _text(self, found: str, path: str) -> str:
        left = len(found) - self.characters
        if left <= 0:
            return found
        self.notes.append(f"{path}: {left:,} of {len(found):,} characters")
        return f"{found[: self.characters]}…"

    def _note(self, count: int, path: str) -> None:
        if count > self.items:
            self.notes.append(f"{path or 'answer'}: {count - self.items:,} of {count:,} items")


def bound(
    answer: dict[str, object], fits: Callable[[dict[str, object], tuple[str, ...]], bool]
) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return an answer that fits, and what was left out of it.

    Args:
        answer: As the command gave it.
        fits: Whether an answer, with the list of what was left out, is short enough.
    """
    if fits(answer, ()):
        return answer, ()
    for items, characters in _STEPS:
        cut = _Cut(items=items, characters=characters)
        shown = cut.value(answer)
        assert isinstance(shown, dict)
        notes = tuple(_some(cut.notes))
        if fits(shown, notes):
            return shown, notes
    shown = {name: _short(answer[name]) for name in _KEPT_FIELDS if name in answer}
    return shown, ("everything but the fields that are shown: ask for less",)


def _some(notes: list[str]) -> Iterator[str]:
    yield from (each[:300] for each in notes[:_MOST_NOTES])
    if len(notes) > _MOST_NOTES:
        yield f"and in {len(notes) - _MOST_NOTES:,} more places"


def _short(value: object) -> object:
    return value[:500] if isinstance(value, str) else value if isinstance(value, int) else None


def _below(path: str, key: str) -> str:
    return f"{path}.{key[:60]}" if path else key[:60]
