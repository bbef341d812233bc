"""What a user names: `MODULE:NAME`, or `FILE.py:NAME`."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import sysconfig
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from types import ModuleType
from typing import Any

from holdfast.errors import ConfigError, missing_extra
from holdfast.redact import redact, redact_location


def load_named(named: str) -> Any:
    """Return what a module or a file has under a name.

    Raises:
        ConfigError: It cannot be imported, or has nothing of that name.
        MissingExtraError: It imports an optional dependency that is not installed.
    """
    where, _, name = named.rpartition(":")
    try:
        module = (
            _load_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
        )
    except Exception as error:
        missing = missing_extra(error) if isinstance(error, ImportError) else None
        if missing is not None:
            raise missing from error
        raise ConfigError(
            f"{redact_location(where)!r} cannot be imported: {redact(repr(error))}."
        ) from error
    if not hasattr(module, name):
        raise ConfigError(f"{where!r} has no {name!r}: give MODULE:NAME or FILE.py:NAME.")
    return getattr(module, name)


def _load_file(path: Path) -> ModuleType:
    name = _free_name(path)
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    make_importable(path.parent)
    spec.loader.exec_module(module)
    return module


def _free_name(path: Path) -> str:
    """Return the name of a file's module: its stem, unless another module has that name.

    A file `json.py` must not become the `json` that everything else in the process imports.
    """
    try:
        there = importlib.util.find_spec(path.stem)
    except (ImportError, ValueError):
        there = None
    if there is None or _is_same_file(there.origin, path):
        return path.stem
    if path.stem not in sys.stdlib_module_names:
        # Its directory comes before packages from now on, so that the other one is loaded here.
        with suppress(Exception):
            importlib.import_module(path.stem)
    return f"{path.stem}_{sha256(str(path.resolve()).encode()).hexdigest()[:8]}"


def _is_same_file(origin: str | None, path: Path) -> bool:
    return origin is not None and Path(origin).exists() and path.samefile(origin)


def make_importable(directory: Path) -> None:
    """Let modules of a directory be imported, before packages and behind the standard library.

    Python puts the directory of a program first. There a `queue.py` beside it would become the
    `queue` of Spark and of Holdfast too.
    """
    standard = {sysconfig.get_path(each) for each in ("stdlib", "platstdlib")}
    standard |= {str(Path(each) / "lib-dynload") for each in standard if each}
    places = [number for number, each in enumerate(sys.path) if each in standard]
    sys.path.insert(max(places, default=-1) + 1, str(directory))


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
