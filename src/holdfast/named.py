"""What a user names: `MODULE:NAME`, or `FILE.py:NAME`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

from holdfast.errors import ConfigError
from holdfast.redact import redact, redact_location


def load_named(named: str) -> Any:
    """Return what a module or a file has under a name.

    Raises:
        ConfigError: It cannot be imported, or has nothing of that name.
    """
    where, _, name = named.rpartition(":")
    try:
        module = (
            _load_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
        )
    except Exception as error:
        raise ConfigError(
            f"{redact_location(where)!r} cannot be imported: {redact(repr(error))}."
        ) from error
    if not hasattr(module, name):
        raise ConfigError(f"{where!r} has no {name!r}: give MODULE:NAME or FILE.py:NAME.")
    return getattr(module, name)


def _load_file(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    spec.loader.exec_module(module)
    return module


def name_of(function: Callable[..., Any]) -> str:
    """Return how another process finds a function.

    Raises:
        ConfigError: It is inside another function, or a lambda.
    """
    name = function.__qualname__
    if not name.isidentifier():
        raise ConfigError(
            f"{name} cannot be found by another process: define it at the top of its module."
        )
    return f"{Path(function.__code__.co_filename).resolve()}:{name}"
