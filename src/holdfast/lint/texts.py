"""A value as text with holes in it: what is known of it, and what is not."""

from __future__ import annotations

import msgspec


class Hole(msgspec.Struct, frozen=True):
    """A part of a value that is not known."""

    key: str | None = None
    volatile: str | None = None
    """The expression that is different in every run, if that is why it is not known."""
    temporary: str | None = None
    """The expression that names the directory for temporary files, if it is that."""
    among: tuple[str, ...] = ()
    """The texts that it can be, if all of them are written in the code: of a loop, or a default."""


class Text(msgspec.Struct, frozen=True):
    """A value: what is known of it, and its holes."""

    parts: tuple[str | Hole, ...]

    @property
    def known(self) -> str | None:
        """The whole text; None if a part is not known."""
        if any(isinstance(part, Hole) for part in self.parts):
            return None
        return "".join(str(part) for part in self.parts)

    @property
    def fixed(self) -> str | None:
        """The text, or the first of those that it can be; None if the code does not say them."""
        if not all(isinstance(part, str) or part.among for part in self.parts):
            return None
        return "".join(part if isinstance(part, str) else part.among[0] for part in self.parts)

    @property
    def start(self) -> str:
        """The known text before the first hole."""
        first = self.parts[0] if self.parts else ""
        return first if isinstance(first, str) else ""

    @property
    def volatile(self) -> str | None:
        """What makes it different in every run."""
        holes = (part for part in self.parts if isinstance(part, Hole))
        return next((hole.volatile for hole in holes if hole.volatile), None)

    @property
    def temporary(self) -> str | None:
        """The expression that names the directory for temporary files, if it begins with that."""
        first = self.parts[0] if self.parts else ""
        return first.temporary if isinstance(first, Hole) else None

    def is_same(self, other: Text) -> bool:
        """Return whether two values are surely equal."""
        comparable = all(
            isinstance(part, str) or (part.key is not None and part.volatile is None)
            for part in self.parts
        )
        return bool(self.parts) and comparable and self.parts == other.parts

    def add(self, other: Text) -> Text:
        """Return this text followed by another."""
        parts = [*self.parts]
        for part in other.parts:
            if part == "":
                continue
            if parts and isinstance(part, str) and isinstance(parts[-1], str):
                parts[-1] += part
            else:
                parts.append(part)
        return Text(tuple(parts))


UNKNOWN = Text((Hole(),))


def text_of(known: str) -> Text:
    """Return a value that is known."""
    return Text((known,))
