"""`holdfast plan GOAL STREAM`: what a repair would do, as a file to review. Nothing is changed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.looks import make_looks
from holdfast.cli.no_plan import encode_no_plan, say_no_plan
from holdfast.cli.options import Decorator, all_of, with_format, with_storage_options
from holdfast.cli.plan_text import render_plan
from holdfast.errors import ConfigError
from holdfast.plan.describe import describe
from holdfast.plan.goals.outputs import OutputChoice
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
    with_storage_options,
    with_format,
)
_OUTPUTS = tuple(each.value for each in OutputChoice)
_with_cascade = click.option(
    "--cascade", is_flag=True, help="Reset the streams that read its output."
)


def _with_restored_output(to: str) -> Decorator:
    """Add the options of a goal that goes back: what becomes of the sinks, and of who reads them.

    Args:
        to: Where the sinks are put back to, for the help.
    """
    return all_of(
        click.option(
            "--output",
            type=click.Choice(["restore", "keep"]),
            default="restore",
            show_default=True,
            help=f"Whether the sinks are put back to {to}.",
        ),
        _with_cascade,
    )


@click.group(short_help="Plan a repair: nothing is changed.")
def plan() -> None:
    """Say what a repair would do to the data, and write it down as a file.

    Nothing is changed. `holdfast apply FILE` rehearses a plan, and carries it out with --execute.
    """


@plan.command(short_help="Go on with the same batch and the same range.")
@_with_options
def resume(**given: Any) -> ExitCode:
    """Put right what keeps a stream from going on where it stands.

    A deleted checkpoint of a stream without state is given back from the ledgers of its sinks.
    """
    return _plan(Request(goal="resume"), given)


@plan.command(short_help="Run the last batch or batches again, with their exact range.")
@click.option(
    "--batches",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="How many of the last batches; several are run as one.",
)
@_with_restored_output("before the batch")
@_with_options
def replay(*, batches: int, output: str, cascade: bool, **given: Any) -> ExitCode:
    """Run the last batch or batches again, after the sinks were put back to before them."""
    request = Request(goal="replay", batches=batches, output=output, cascade=cascade)
    return _plan(request, given)


@plan.command(short_help="Begin a new generation, from a named position.")
@click.option(
    "--from",
    "start",
    required=True,
    metavar="earliest|here|OFFSETS",
    help="Where it begins: the oldest record, where the sinks end, or Kafka offsets as JSON.",
)
@click.option(
    "--output",
    required=True,
    type=click.Choice(_OUTPUTS),
    help="What becomes of the rows that the sinks hold.",
)
@click.option(
    "--output-of",
    "outputs",
    multiple=True,
    metavar="STREAM/SINK=OUTPUT",
    help="The same for one sink. Can be repeated.",
)
@_with_cascade
@_with_options
def reset(
    *, start: str, output: str, outputs: tuple[str, ...], cascade: bool, **given: Any
) -> ExitCode:
    """Begin a new generation of a stream; the old checkpoint stays until `holdfast plan prune`."""
    pairs = dict(_pair(each) for each in outputs)
    request = Request(goal="reset", start=start, output=output, outputs=pairs, cascade=cascade)
    return _plan(request, given)


@plan.command(short_help="Go back to an earlier batch.")
@click.option("--to-batch", "batch", type=int, required=True, help="The last batch that stays.")
@_with_restored_output("that batch")
@_with_options
def rewind(*, batch: int, output: str, cascade: bool, **given: Any) -> ExitCode:
    """Go back to an earlier batch: a new generation on a copy of the checkpoint up to there."""
    return _plan(Request(goal="rewind", batch=batch, output=output, cascade=cascade), given)


@plan.command(short_help="Move a stream to another root.")
@click.option("--to", "target", required=True, metavar="ROOT", help="The new root.")
@_with_options
def move(*, target: str, **given: Any) -> ExitCode:
    """Move a stream, with its record, to another root; the old one is left as it is."""
    return _plan(Request(goal="move", target=target), given)


@plan.command(short_help="Copy a stream under a new name and identity.")
@click.option("--as", "target", required=True, metavar="NAME", help="The new stream's name.")
@_with_options
def clone(*, target: str, **given: Any) -> ExitCode:
    """Copy a stream's checkpoint under a new name, so that new code can run beside it."""
    return _plan(Request(goal="clone", target=target), given)


@plan.command(short_help="Keep a named copy of a checkpoint.")
@click.option("--name", "target", required=True, metavar="NAME", help="The snapshot's name.")
@_with_options
def snapshot(*, target: str, **given: Any) -> ExitCode:
    """Copy a checkpoint under a name, and compare the copy."""
    return _plan(Request(goal="snapshot", target=target), given)


@plan.command(short_help="Go back to a snapshot.")
@click.option("--snapshot", "target", required=True, metavar="NAME", help="The snapshot's name.")
@_with_cascade
@_with_options
def restore(*, target: str, cascade: bool, **given: Any) -> ExitCode:
    """Begin a new generation on a copy of a snapshot; the sinks are put back to its batch."""
    return _plan(Request(goal="restore", target=target, cascade=cascade), given)


@plan.command(short_help="Go on in another Kafka cluster.")
@click.option(
    "--mapping",
    required=True,
    metavar="FILE",
    help="Pairs of offsets, one JSON object per line: topic, partition, upstreamOffset, "
    "downstreamOffset, and downstreamTopic if it has another name there.",
)
@_with_options
def migrate(*, mapping: str, **given: Any) -> ExitCode:
    """Go on in another Kafka cluster, at the offsets that MirrorMaker 2 has translated.

    The sinks keep what they hold. The code then names the new cluster and its topics.
    """
    try:
        text = Path(mapping).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{mapping} cannot be read: {type(error).__name__}.") from error
    return _plan(Request(goal="migrate", target=text), given)


@plan.command(short_help="Delete checkpoints of old generations.")
@click.option(
    "--older-than",
    "days",
    type=click.IntRange(0, 36_500),
    required=True,
    metavar="DAYS",
    help="How long ago the generation must have been left.",
)
@_with_options
def prune(*, days: int, **given: Any) -> ExitCode:
    """Delete the checkpoints of generations that were left long ago; never the current one."""
    return _plan(Request(goal="prune", days=days), given)


@plan.command(short_help="End a stream for good.")
@_with_options
def retire(**given: Any) -> ExitCode:
    """End a stream for good: fence its sinks, archive its checkpoint, then delete it.

    Its sinks keep their rows. Prove the pipeline first: `holdfast prove`.
    """
    return _plan(Request(goal="retire"), given)


def _pair(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or value not in _OUTPUTS:
        raise ConfigError(f"--output-of {text!r} is not STREAM/SINK=OUTPUT.")
    return name, value


def _plan(request: Request, given: dict[str, Any]) -> ExitCode:
    out, form, explain = given.pop("out"), given.pop("form"), given.pop("explain")
    stream = given.pop("stream")
    looks = make_looks(stream, None, **_LOOKS, **given)
    found = make_plan(request, looks)
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
    "sinks": (),
    "among": None,
}
