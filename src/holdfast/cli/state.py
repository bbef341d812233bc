"""`holdfast state LOCATION`: what is in the state of a checkpoint, and whether a key is in it."""

from __future__ import annotations

import sys

import click

from holdfast.bundle.open import open_checkpoint
from holdfast.checkpoint.read import Checkpoint, read_checkpoint
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.options import with_format, with_storage_options
from holdfast.cli.watch import watch
from holdfast.errors import ConfigError
from holdfast.evidence.state_keys import parse_condition
from holdfast.evidence.state_reading import find_state_rows
from holdfast.evidence.state_rows import StateQuestion, StateRows
from holdfast.printable import printable
from holdfast.redact import redact
from holdfast.storage.options import parse_options


@click.command()
@click.argument("location")
@click.option("--operator", type=click.IntRange(min=0), metavar="N", help="Only this operator.")
@click.option("--partition", type=click.IntRange(min=0), metavar="P", help="Only this partition.")
@click.option(
    "--key",
    "keys",
    multiple=True,
    metavar="TEXT",
    help="Find rows by their key: NAME=VALUE for one column (window.start=…, for one inside a "
    "struct), or a value that any column of the key may have. Repeated, all must hold. Exit with 1 "
    "if no row has it.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0, max=10_000),
    default=5,
    show_default=True,
    metavar="N",
    help="Show so many rows; without --key, so many of each operator as examples.",
)
@with_format
@with_storage_options
def state(  # noqa: PLR0913 - one parameter per option
    *,
    location: str,
    operator: int | None,
    partition: int | None,
    keys: tuple[str, ...],
    limit: int,
    form: str,
    storage_options: tuple[str, ...],
) -> ExitCode:
    """Say what is in the state of a checkpoint, and whether a key is in it.

    Rows by operator and partition, how they grew over the versions that are kept, and rows decoded
    by the schema in the checkpoint. The version is the one that the next start loads. Nothing is
    written, and Spark is not needed.
    """
    opened = open_checkpoint(location, parse_options(storage_options))
    question = StateQuestion(
        operator=operator,
        partition=partition,
        conditions=tuple(map(parse_condition, keys)),
        most=limit,
    )
    with watch(opened.checkpoint) as reader:
        checkpoint = read_checkpoint(reader)
        _refuse_absent(checkpoint, question)
        found = find_state_rows(reader, checkpoint, question)
    _show(checkpoint, found, form)
    return _exit_code(checkpoint, found)


def _refuse_absent(checkpoint: Checkpoint, question: StateQuestion) -> None:
    """Refuse an operator or a partition that is not there."""
    operators = [each.operator_id for each in checkpoint.state]
    if question.operator is not None and question.operator not in operators:
        there = ", ".join(map(str, operators)) or "none"
        raise ConfigError(
            f"There is no operator {question.operator} in state/; there are: {there}."
        )
    if question.partition is None:
        return
    chosen = [e for e in checkpoint.state if question.operator in (None, e.operator_id)]
    partitions = {store.partition for each in chosen for store in each.stores}
    if question.partition not in partitions:
        highest = f"the highest is {max(partitions)}" if partitions else "there is none"
        raise ConfigError(f"There is no partition {question.partition} in state/; {highest}.")


def _show(checkpoint: Checkpoint, found: StateRows, form: str) -> None:
    if form == "json":
        from holdfast.cli.state_json import render_state_json  # noqa: PLC0415 - costs 50 ms

        sys.stdout.write(render_state_json(checkpoint, found) + "\n")
        return
    from holdfast.cli.state_text import render_state_text  # noqa: PLC0415 - only for text

    for line in render_state_text(checkpoint, found):
        sys.stdout.write(printable(redact(line)) + "\n")


def _exit_code(checkpoint: Checkpoint, found: StateRows) -> ExitCode:
    if checkpoint.is_empty or checkpoint.is_file:
        return ExitCode.NOT_JUDGED
    if not found.question.conditions:
        return ExitCode.NOT_JUDGED if found.uncounted or found.absent else ExitCode.DONE
    if found.matching:
        return ExitCode.DONE
    return ExitCode.NOT_JUDGED if found.unsearched or found.absent else ExitCode.FOUND
