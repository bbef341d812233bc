"""Where a connection string comes from: only its name is shown, logged or recorded.

An error here never holds what a secret stands for: not in its text, not as its cause or context,
and not in a local variable of a frame in its traceback.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from holdfast.confinement import refuse_connections
from holdfast.errors import ConfigError
from holdfast.redact import HIDDEN

Secret = str | Callable[[], str]
"""`env:NAME`, `file:PATH`, or a function that returns the DSN."""

MAX_BYTES = 64 << 10
"""Sanity limit: a larger file or value is not a DSN."""
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LIKE_A_DSN = re.compile(r"://|[@=\s]")
"""Such a path is not shown: it may be the DSN itself, with `file:` put before it."""


def reveal(secret: Secret) -> str:
    """Return what a secret stands for.

    Raises:
        ConfigError: It is passed as plain text, or cannot be read from where it should be, or this
            process may not connect to a database.
    """
    refuse_connections()
    found = _find(secret)
    if isinstance(found, _Problem):
        raise ConfigError(str(found))
    return found


def check_secret(given: object, name: str) -> None:
    """Refuse what is no name of a secret, such as an environment variable that was not set.

    Raises:
        ConfigError: It is neither text nor a function.
    """
    if not isinstance(given, str) and not callable(given):
        kind = "None" if given is None else f"a value of type {type(given).__name__}"
        raise ConfigError(f"{name}= takes env:NAME, file:PATH or a function, not {kind}.")


def shown_name(secret: Secret) -> str:
    """Return the name of a secret, which can be shown; never what it stands for."""
    if not isinstance(secret, str):
        return str(getattr(secret, "__qualname__", "a function"))
    kind, _, name = secret.partition(":")
    if kind == "env":
        return secret if _VARIABLE.fullmatch(name) else f"env:{HIDDEN}"
    if kind == "file":
        return f"file:{HIDDEN}" if _LIKE_A_DSN.search(name) else secret
    return "passed as plain text"


class _Problem(str):
    """Why there is no DSN, as a sentence that can be shown."""

    __slots__ = ()


def _find(secret: Secret) -> str | _Problem:
    if not isinstance(secret, str):
        return _call(secret)
    kind, _, name = secret.partition(":")
    if kind == "env":
        return _read_variable(name)
    if kind == "file":
        return _read_file(Path(name), shown_name(secret).removeprefix("file:"))
    return _Problem(
        "The DSN is passed as plain text, which would reach logs. Name the environment variable "
        "that holds it (env:NAME) or a file (file:PATH), or pass a function that returns it."
    )


def _call(function: Callable[[], object]) -> str | _Problem:
    shown = f"The function {shown_name(function)}, which returns the DSN,"  # type: ignore[arg-type]
    try:
        found = function()
    except Exception as error:  # noqa: BLE001 - whatever it raises may hold the secret in its text
        return _Problem(f"{shown} raised {type(error).__name__}.")
    if not isinstance(found, str):
        return _Problem(f"{shown} returned {type(found).__name__} instead of a string.")
    return _check(found, shown)


def _read_variable(name: str) -> str | _Problem:
    if not _VARIABLE.fullmatch(name):
        return _Problem("What follows env: is not the name of an environment variable.")
    shown = f"The environment variable {name}, which holds the DSN,"
    if name not in os.environ:
        return _Problem(f"{shown} is not set.")
    return _check(os.environ[name], shown)


def _read_file(path: Path, shown: str) -> str | _Problem:
    shown = f"The file {shown}, which holds the DSN,"
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
        text = content.decode("utf-8-sig").strip()
    except OSError as error:
        return _Problem(f"{shown} cannot be read: {error.strerror}.")
    except ValueError:  # not UTF-8, or a path with a NUL
        return _Problem(f"{shown} is not UTF-8 text.")
    return _check(text, shown)


def _check(text: str, shown: str) -> str | _Problem:
    """Return the text, unless it cannot be a DSN."""
    if not text.strip():
        return _Problem(f"{shown} is empty.")
    if len(text) > MAX_BYTES:
        return _Problem(f"{shown} is larger than {MAX_BYTES >> 10} KiB.")
    if "\0" in text:
        return _Problem(f"{shown} holds a NUL character.")
    if any("\ud800" <= each <= "\udfff" for each in text):
        return _Problem(f"{shown} is not UTF-8 text.")
    return text
