"""`holdfast plan GOAL STREAM`: what a repair would do, as a file to review. Nothing is changed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from holdfast.apply.steps.table import describe
from holdfast.cli.declared_pipeline import code_of, with_pipeline
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.looks import make_looks, with_event_log
from holdfast.cli.no_plan import encode_no_plan, say_no_plan
from holdfast.cli.options import Decorator, all_of, with_format, with_storage_options
from holdfast.cli.plan_text import render_plan
from holdfast.errors import ConfigError
from holdfast.plan.goal import GOALS, Goal, Option
from holdfast.plan.make import make_plan
from holdfast.plan.plan_file import NoPlan, Plan, encode_plan
from holdfast.plan.requests import Request
from holdfast.printable import printable

_with_options = all_of(
    click.argument("stream", metavar="STREAM|LOCATION"),
    click.option("--root", metavar="ROOT", help="Where the stream's checkpoint and record are."),
    click.option("-o", "--out", metavar="FILE", help="Write the plan to this file."),
    click.option("--explain", is_flag=True, help="List every step, with the reason for it."),
    click.option(
        "--source",
        "sources",
        multiple=True,
        metavar="[N=]WHERE",
        help="Where source N is: a broker's HOST:PORT, or a table. Can be repeated.",
    ),
    click.option("--kafka-config", metavar="FILE", help="Properties of a Kafka client."),
    click.option(
        "--sink",
        "sinks",
        multiple=True,
        metavar="[STREAM=]WHERE",
        help="Of a plain stream: a Delta table, the directory of a file sink, or a PostgreSQL "
        "table as env:DSN#TABLE. Can be repeated.",
    ),
    with_event_log,
    click.option(
        "--among",
        metavar="LOCATION",
        help="Of a plain stream: where checkpoints are that may read its output.",
    ),
    with_storage_options,
    with_format,
)


class Goals(click.Group):
    """A group with one command for each goal."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name every goal."""
        return sorted({*GOALS, *super().list_commands(ctx)})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Make the command of a goal from what the goal says of itself."""
        goal = GOALS.get(cmd_name)
        return super().get_command(ctx, cmd_name) if goal is None else _command_of(goal)


@click.group(cls=Goals, short_help="Plan a repair: nothing is changed.")
def plan() -> None:
    """Say what a repair would do to the data, and write it down as a file.

    Nothing is changed. `holdfast apply FILE` rehearses a plan, and carries it out with --execute.
    """


def _command_of(goal: Goal) -> click.Command:
    def run(**given: Any) -> ExitCode:
        values = {each.field: _value(each, given.pop(each.field)) for each in goal.options}
        return _plan(Request(goal=goal.name, **values), given)

    own = [_click_option(each) for each in goal.options]
    options = all_of(*own, *([with_pipeline] if goal.runs_code else ()), _with_options)
    return click.command(goal.name, short_help=goal.summary, help=goal.help)(options(run))


def _click_option(option: Option) -> Decorator:
    shown: dict[str, Any] = {"help": option.help, "metavar": option.metavar}
    if isinstance(option.empty, bool):
        return click.option(option.flag, option.field, is_flag=True, help=option.help)
    if isinstance(option.empty, Mapping):
        return click.option(option.flag, option.field, multiple=True, **shown)
    if option.choices:
        shown["type"] = click.Choice([str(each) for each in option.choices])
    elif option.takes_number:
        bounded = option.least is not None
        shown["type"] = click.IntRange(option.least, option.most) if bounded else int
    if option.is_required:
        return click.option(option.flag, option.field, required=True, **shown)
    default = option.default or option.empty
    is_shown = default not in ("", None)
    return click.option(option.flag, option.field, default=default, show_default=is_shown, **shown)


def _value(option: Option, given: Any) -> Any:
    """Return what an option was given, as the request has it."""
    if isinstance(option.empty, Mapping):
        return dict(_pair(option, each) for each in given)
    return _read_text(given) if option.is_file else given


def _pair(option: Option, text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or (option.choices and value not in option.choices):
        raise ConfigError(f"{option.flag} {text!r} is not {option.metavar}.")
    return name, value


def _read_text(file: str) -> str:
    try:
        return Path(file).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {type(error).__name__}.") from error


def _plan(request: Request, given: dict[str, Any]) -> ExitCode:
    out, form, explain = given.pop("out"), given.pop("form"), given.pop("explain")
    stream = given.pop("stream")
    code = code_of(given.pop("pipeline", None))
    looks = make_looks(stream, None, **_LOOKS, **given)
    found = make_plan(request, looks, code)
    if out is not None:
        # Also where there is no plan: else `apply` would carry out the one that was there before.
        _write(out, encode_no_plan(found) if isinstance(found, NoPlan) else encode_plan(found))
    if isinstance(found, NoPlan):
        return say_no_plan(found, form)
    if form == "json":
        sys.stdout.write(encode_plan(found).decode())
        return ExitCode.DONE
    for line in render_plan(found, out):
        click.echo(printable(line))
    if explain:
        _explain(found)
    return ExitCode.DONE


def _write(out: str, content: bytes) -> None:
    try:
        Path(out).write_bytes(content)
    except OSError as error:
        raise ConfigError(f"{out} cannot be written: {error.strerror}.") from error


def _explain(found: Plan) -> None:
    click.echo("")
    for number, step in enumerate(found.steps, start=1):
        click.echo(printable(f"  {number:>3}  {describe(step)}."))
        click.echo(printable(f"       {step.why}"))


_LOOKS: dict[str, Any] = {
    "spark": None,
    "deep": False,
    "probe": True,
}
