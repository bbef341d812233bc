"""Lines of a stream of pieces: complete ones only, in constant memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

LONGEST_LINE = 32 << 20
"""A longer one is passed over: the plan of one execution, in a log, is a megabyte at most."""

_SHOWN = 64


class Lines:
    """Splits a text; then tells what was left out."""

    def __init__(self, pieces: Iterable[bytes], *, longest: int = LONGEST_LINE) -> None:
        """Read nothing yet."""
        self._pieces = pieces
        self._longest = longest
        self.text_bytes = 0
        self.too_long = 0
        """Lines that were passed over."""
        self.rest = b""
        """How the last line begins, if the text ends within it."""

    def __iter__(self) -> Iterator[bytes]:
        """Yield every complete line, without its end."""
        held: list[bytes] = []
        length = 0
        for piece in self._pieces:
            self.text_bytes += len(piece)
            first, *others = piece.split(b"\n")
            length += len(first)
            if length <= self._longest:
                held.append(first)
            else:
                held.clear()
            if not others:
                continue
            if length <= self._longest:
                yield b"".join(held)
            else:
                self.too_long += 1
            last = others.pop()
            yield from others
            held, length = [last], len(last)
        self.too_long += length > self._longest
        self.rest = b"".join(held)[:_SHOWN]
