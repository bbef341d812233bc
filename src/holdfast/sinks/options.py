"""Options of sinks as users give them; what is of another type is refused by the option's name."""

from __future__ import annotations

import os

from holdfast.errors import ConfigError


def as_path(given: object) -> str:
    """Return a path as text.

    Raises:
        ConfigError: It is none.
    """
    found = os.fspath(given) if isinstance(given, os.PathLike) else given
    if not isinstance(found, str) or not found:
        raise ConfigError(f"path= takes a path as text, not {type(given).__name__}.")
    return found


def as_number(name: str, given: object) -> int:
    """Return a whole number.

    Raises:
        ConfigError: It is none.
    """
    if not isinstance(given, int) or isinstance(given, bool):
        raise ConfigError(f"{name}= takes a whole number, not {given!r}.")
    return given


def as_columns(given: object) -> tuple[str, ...]:
    """Return the columns of partition_by=.

    Raises:
        ConfigError: It is no list of names.
    """
    if isinstance(given, str):
        raise ConfigError(f"partition_by= takes a list of columns: [{given!r}].")
    if not isinstance(given, list | tuple) or not all(isinstance(x, str) for x in given):
        raise ConfigError(f"partition_by= takes a list of column names, not {given!r}.")
    if "" in given or len(set(given)) < len(given):
        raise ConfigError(f"partition_by= takes the name of each column once, not {given!r}.")
    return tuple(given)


def check_label(name: object) -> None:
    """Refuse a name for a sink that nobody can type: it is in the ledger and in commands.

    Raises:
        ConfigError: It is no text, or has characters that are not printed.
    """
    if name is not None and not (isinstance(name, str) and name.isprintable()):
        raise ConfigError(f"name= takes printable text, not {name!r}.")
