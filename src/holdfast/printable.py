"""Text that cannot steer a terminal: names in a checkpoint or a record may come from anybody."""

from __future__ import annotations


def printable(text: str) -> str:
    """Return a line in which every character that a terminal does not show is escaped."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape", "replace").decode()
        for each in text
    )


def printable_lines(text: str) -> str:
    """Return a text with its line breaks, and every other hidden character escaped."""
    return "\n".join(map(printable, text.split("\n")))
