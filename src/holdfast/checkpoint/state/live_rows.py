"""The rows of a store while its files are read: how many, and those that were asked for."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from holdfast.checkpoint.state.rows import short_key

_SPARE_EXAMPLES, _SPARE_ROWS = 10, 10_000
"""A row that is kept may be removed by a later file: so many more than are wanted are kept."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """Which rows are wanted."""

    wanted: Callable[[bytes], bool] | None = None
    """Says of a key whether it is asked for; None takes any row as an example."""
    most: int = 0
    """Of so many the value is kept."""

    @property
    def needs_rows(self) -> bool:
        """Whether rows must be looked at, not only counted."""
        return self.wanted is not None or self.most > 0


class LiveRow(msgspec.Struct, kw_only=True):
    """One row that is there."""

    key: bytes
    value: bytes | None
    """None where only a part of it is known."""
    since: int
    """The version from which on it has been there, of those that could be read."""
    is_older: bool
    """Whether it may have been there before: the version before that was not looked into."""


class LiveRows:
    """Takes changes and knows what is there afterwards."""

    def __init__(self, question: Question) -> None:
        """Begin with nothing: version 0 of every store is empty."""
        self._question = question
        spare = _SPARE_ROWS if question.wanted else question.most * _SPARE_EXAMPLES
        self._room = question.most + spare if question.most else 0
        self._keys: set[bytes] = set()
        self._matching: set[bytes] = set()
        self._whole: int | None = None
        self.kept: dict[bytes, LiveRow] = {}

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self._keys)

    @property
    def matching(self) -> int:
        """How many rows are asked for."""
        return len(self._keys if self._question.wanted is None else self._matching)

    def begin_whole(self, version: int) -> None:
        """Begin again with nothing, for a file that has all rows of a version."""
        self._whole = version
        self._keys.clear()
        self._matching.clear()
        self.kept.clear()

    def put(self, key: bytes, value: bytes | None, version: int) -> None:
        """Add a row or change it."""
        short = short_key(key)
        if short in self._keys:
            if (row := self.kept.get(key)) is not None:
                row.value = value
            return
        self._keys.add(short)
        wanted = self._question.wanted
        if wanted is not None:
            if not wanted(key):
                return
            self._matching.add(short)
        if len(self.kept) < self._room:
            is_older = version == self._whole and version > 1
            self.kept[key] = LiveRow(key=key, value=value, since=version, is_older=is_older)

    def remove(self, key: bytes) -> None:
        """Remove a row, if it is there."""
        short = short_key(key)
        self._keys.discard(short)
        self._matching.discard(short)
        self.kept.pop(key, None)
