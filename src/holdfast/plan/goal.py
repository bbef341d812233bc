"""What a goal is: its name, its options, its words, and the function that plans it.

A goal is one module. Its function registers itself with `@goal`; the command line, `hf.plan_…`, the
pages and `make_plan` read the table. The docstring of the function is the help of the command.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from shlex import quote
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import msgspec

from holdfast.errors import ConfigError
from holdfast.plan.plan_file import NoPlan, Plan
from holdfast.plan.requests import Request
from holdfast.plan.world import StreamNow

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from holdfast.streams.pipeline import Pipeline


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a goal is asked with."""

    flag: str
    """On the command line."""
    field: str
    """Of `Request`; its type says what the option takes."""
    help: str
    keyword: str = ""
    """In Python, where it is not the field."""
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    default: str = ""
    """If the option can be left out, and that means something else than in `Request`."""
    is_required: bool = False
    least: int | None = None
    most: int | None = None
    is_file: bool = False
    """Whether the command line names a file, and the text in it counts."""

    @property
    def empty(self) -> object:
        """What a request has that does not name it."""
        empty: object = getattr(Request(goal=""), self.field)
        return empty

    @property
    def takes_number(self) -> bool:
        """Whether its values are numbers."""
        return "int" in str(Request.__annotations__[self.field])


class GoalCase(msgspec.Struct, frozen=True, kw_only=True):
    """What a goal plans from."""

    request: Request
    now: StreamNow
    """The stream, as it is now."""
    below: tuple[StreamNow, ...] = ()
    """With `--cascade`: the streams that read its output, in the order of the data."""


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """The code of a stream, for a goal that runs it."""

    spark: SparkSession
    """The session."""
    pipeline: Pipeline
    """That declares the stream."""


class CodeCase(msgspec.Struct, frozen=True, kw_only=True):
    """What a goal plans from that runs the code of a stream."""

    request: Request
    stream: str
    code: Code


Build = Callable[[Any], Plan | NoPlan]
"""From a `GoalCase`; of a goal that runs code, from a `CodeCase`."""


@dataclass(frozen=True, kw_only=True)
class Goal:
    """One goal of `plan`."""

    name: str
    summary: str
    """For the list of goals."""
    build: Build
    options: tuple[Option, ...] = ()
    copies: bool = False
    """Whether it only copies a checkpoint: its undo removes the copy."""
    changes_output: bool = False
    """Whether rows that sinks hold may go: the streams that read them are part of the plan."""
    names_batches: bool = False
    """Whether it names batches before the newest: all that the checkpoint has must be known."""
    runs_code: bool = False
    """Whether it runs the stream's own function, with Spark."""

    @cached_property
    def help(self) -> str:
        """What it does, for its own page of help."""
        return inspect.getdoc(self.build) or self.summary

    def check_words(self, request: Request) -> None:
        """Refuse a word that no option has: a misspelt `keep` must not restore.

        Raises:
            ConfigError: There is one.
        """
        for option in self.options:
            value = getattr(request, option.field)
            for each in value.values() if isinstance(value, Mapping) else (value,):
                if option.choices and each and each not in option.choices:
                    raise ConfigError(
                        f"{each!r} is no {option.field.removesuffix('s')} of {self.name}. "
                        f"It takes: {', '.join(option.choices)}."
                    )

    def check_numbers(self, request: Request) -> None:
        """Refuse a number that an option does not take, as the command line does.

        Raises:
            ConfigError: There is one.
        """
        for option in self.options:
            number = getattr(request, option.field)
            if (
                number is None
                or option.least is None
                or option.least <= number <= (option.most or number)
            ):
                continue
            bounds = (
                f"from {option.least} to {option.most}"
                if option.most
                else f"at least {option.least}"
            )
            raise ConfigError(f"{option.keyword or option.field}={number} is not {bounds}.")


GOALS: dict[str, Goal] = {}
"""Every goal by its name, in the order of their modules."""


class GoalFacts(TypedDict, total=False):
    """What else is true of a goal; see `Goal`."""

    copies: bool
    changes_output: bool
    names_batches: bool
    runs_code: bool


def goal(
    name: str, summary: str, *options: Option, **facts: Unpack[GoalFacts]
) -> Callable[[Build], Build]:
    """Register the function that plans a goal; see `Goal`."""

    def register(build: Build) -> Build:
        GOALS[name] = Goal(name=name, summary=summary, build=build, options=options, **facts)
        return build

    return register


def command_of(request: Request, named: str) -> str:
    """Return the command that asks for something.

    Args:
        request: What is asked for.
        named: How the stream is named: `readings --root ROOT`.
    """
    options = GOALS[request.goal].options
    return " ".join(("holdfast plan", request.goal, named, *_given(request, options)))


def _given(request: Request, options: tuple[Option, ...]) -> Iterator[str]:
    for option in options:
        value = getattr(request, option.field)
        if value == option.empty and not option.is_required:
            continue
        if value is True:
            yield option.flag
        elif isinstance(value, Mapping):
            yield from (f"{option.flag} {name}={each}" for name, each in value.items())
        else:
            yield f"{option.flag} {quote(str(value))}"
