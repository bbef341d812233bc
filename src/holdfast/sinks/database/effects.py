"""What a database would do to other rows when some of a table are moved, as messages say it."""

from __future__ import annotations


def say_trigger(name: object) -> str:
    """Say that a trigger would run."""
    return f"its trigger {name} would do something else with them"


def say_child(name: object) -> str:
    """Say that a table would lose or change rows, because it refers to those that are deleted."""
    return f"{name} refers to it by a foreign key, and would lose or change rows too (ON DELETE)"
