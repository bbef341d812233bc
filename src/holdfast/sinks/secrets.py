"""Where a connection string comes from: named, never held in a record, a log or a setting."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from holdfast.errors import ConfigError

Secret = str | Callable[[], str]
"""`env:NAME`, `file:PATH`, or something that returns it."""


def reveal(secret: Secret) -> str:
    """Return what a secret stands for.

    Raises:
        ConfigError: It is given in the open, or is not where it is said to be.
    """
    if not isinstance(secret, str):
        return secret()
    kind, _, name = secret.partition(":")
    if kind == "env":
        if name not in os.environ:
            raise ConfigError(f"The environment variable {name}, which holds a DSN, is not set.")
        return os.environ[name]
    if kind == "file":
        try:
            return Path(name).read_text().strip()
        except OSError as error:
            raise ConfigError(f"The file {name}, which holds a DSN: {error.strerror}.") from error
    raise ConfigError(
        "A DSN is not given in the open, where it would reach logs: name the environment variable "
        "that holds it (env:NAME), a file (file:PATH), or give a function that returns it."
    )


def shown_name(secret: Secret) -> str:
    """Return the name of a secret, which is none; never what it stands for."""
    if isinstance(secret, str):
        kind = secret.partition(":")[0]
        return secret if kind in ("env", "file") else "given in the open"
    return str(getattr(secret, "__qualname__", "a function"))
