"""Errors: Holdfast could not do what was asked.

What is wrong with a user's checkpoint is a finding, a value, and never an exception. An error says
what did not happen, why, and how to go on, one sentence each.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import ClassVar, ParamSpec, TypeVar

from holdfast.printable import printable_lines
from holdfast.redact import redact_location

P = ParamSpec("P")
R = TypeVar("R")


class HoldfastError(Exception):
    """Base of every error Holdfast raises on purpose; anything else that escapes is a bug.

    Facts are attributes of the subclass, so that callers and tests never read the sentence.
    """

    code: ClassVar[str] = "HOLDFAST"
    """Stable name of the condition, in messages and in JSON."""

    retryable: bool = False
    """Whether the same call may succeed later with nothing changed by hand."""

    def __init__(self, *, what: str, why: str, how: str) -> None:
        # Names and values in a sentence may come from a hostile file.
        self.what, self.why, self.how = map(printable_lines, (what, why, how))
        super().__init__(f"{self.what} {self.why} {self.how}")

    def __reduce__(self) -> tuple[object, ...]:
        # Spark pickles exceptions on their way back from executors, and a subclass takes facts, not
        # sentences: rebuild without __init__ and restore the attributes.
        return _rebuild, (type(self), self.args), self.__dict__


EXTRAS = {
    "pyspark": "spark",
    "pyarrow": "state",
    "psycopg": "postgres",
    "confluent_kafka": "kafka",
    "pymysql": "mysql",
    "pytds": "sqlserver",
    "oracledb": "oracle",
    "boto3": "aws",
    "botocore": "aws",
    "mcp": "mcp",
}
"""The extra that brings a module which Holdfast does not itself require."""
_POSTGRES = "holdfast.sinks.postgres"


def missing_extra(error: ImportError) -> MissingExtraError | None:
    """Return which extra to install, if a module of one is not there; None of any other module.

    Args:
        error: What an import raised.
    """
    module = (error.name or "").partition(".")[0]
    # A module that is there and lacks a name is another problem: its version.
    if module not in EXTRAS or not isinstance(error, ModuleNotFoundError):
        return None
    extra = "postgres" if _came_through(error, _POSTGRES) else EXTRAS[module]
    return MissingExtraError("What was asked for", module=module, extra=extra)


def _came_through(error: ImportError, package: str) -> bool:
    """Return whether a module of a package raised an error, or passed it on."""
    frames = error.__traceback__
    while frames is not None:
        if str(frames.tb_frame.f_globals.get("__name__", "")).startswith(package):
            return True
        frames = frames.tb_next
    return False


def without_our_frames(function: Callable[P, R]) -> Callable[P, R]:
    """Have an error of a public function show the caller's frames only: its sentences say why.

    An optional dependency that is not installed becomes the error that names its extra.
    """

    @functools.wraps(function)
    def call(*given: P.args, **named: P.kwargs) -> R:
        try:
            return function(*given, **named)
        except HoldfastError as error:
            raise error.with_traceback(None) from error.__cause__
        except ImportError as error:
            missing = missing_extra(error)
            if missing is None:
                raise
            raise missing from error

    return call


def created_without_our_frames(kind: type[R]) -> type[R]:
    """Have an error of a class's `__init__` show the caller's frames only."""
    setattr(kind, "__init__", without_our_frames(kind.__init__))  # noqa: B010 - mypy knows no other
    return kind


def _rebuild(kind: type[HoldfastError], args: tuple[object, ...]) -> HoldfastError:
    error = kind.__new__(kind)
    error.args = args
    return error


class MissingExtraError(HoldfastError):
    """Something needs an optional dependency that is not installed here."""

    code = "MISSING_EXTRA"

    def __init__(self, purpose: str, *, module: str, extra: str) -> None:
        self.purpose = purpose
        self.module = module
        self.extra = extra
        super().__init__(
            what=f"{purpose} is not possible here.",
            why=f"The Python module {module!r} is not installed.",
            how=f"Install it with: pip install 'holdfast-spark[{extra}]'",
        )


class ConfigError(HoldfastError):
    """An option or a configuration file is not of the form it must have."""

    code = "CONFIG"

    def __init__(self, why: str) -> None:
        super().__init__(what="Nothing was done.", why=why, how="Correct it and run again.")


class LocationError(HoldfastError):
    """A location is not one Holdfast can read."""

    code = "LOCATION"

    def __init__(
        self,
        text: str,
        *,
        why: str,
        how: str = "Give a path, file:/…, s3://…, gs://…, abfss://… or hdfs://…; to inspect HDFS, webhdfs://….",
    ) -> None:
        self.text = redact_location(text)
        """What was given, with credentials replaced by `***`."""
        super().__init__(what=f"Cannot read {self.text!r}.", why=why, how=how)


class CredentialsInLocationError(LocationError):
    """A location holds credentials, which would reach logs and records."""

    code = "CREDENTIALS_IN_LOCATION"

    def __init__(self, text: str) -> None:
        super().__init__(
            text,
            why="It holds credentials, which would reach logs and records; *** hides them here.",
            how="Remove them from the location, and put them into the environment, an AWS profile "
            "or the settings of the Spark session (spark.hadoop.fs.s3a.access.key).",
        )


class ReadError(HoldfastError):
    """The store did not let us read something; that it is not there is not an error but a value."""

    code = "READ"

    def __init__(self, location: str, *, why: str, how: str) -> None:
        self.location = location
        super().__init__(what=f"Cannot read {location}.", why=why, how=how)


class UnsafePathError(ReadError):
    """A path leads outside its location, or to a pipe or a device; nothing was read."""

    code = "UNSAFE_PATH"


class WriteError(HoldfastError):
    """The store did not take a change; whether it was made is not known unless the reason says."""

    code = "WRITE"

    def __init__(self, location: str, *, why: str, how: str) -> None:
        self.location = location
        super().__init__(what=f"Cannot write {location}.", why=why, how=how)


def refuse_unknown(given: Collection[str], known: Collection[str]) -> None:
    """Refuse a misspelt keyword where keywords are gathered, as Python does elsewhere.

    Raises:
        TypeError: One of them is not known.
    """
    unknown = sorted(set(given) - set(known))
    if unknown:
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}; known: {', '.join(known)}")
