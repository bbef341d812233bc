"""Text that cannot steer a terminal: names in a checkpoint may come from anybody."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return a line with everything that is not shown written as its number."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape", "replace").decode()
        for each in text
    )
