"""`holdfast apply PLAN`: rehearses a plan; with --execute it carries it out."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from shlex import quote
from typing import Any

import click

from holdfast.apply.apply import apply_plan, continue_plan
from holdfast.apply.applying import Telling
from holdfast.apply.journal import read_journalled_plan, split_journal
from holdfast.apply.rehearse import Rehearsal, rehearse
from holdfast.apply.stores import RehearsalStores, Stores
from holdfast.cli.declared_pipeline import local_session
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.next_start_text import say_next_start
from holdfast.cli.options import with_format, with_storage_options
from holdfast.cli.plan_text import needs_spark
from holdfast.errors import ConfigError
from holdfast.plan.describe import describe
from holdfast.plan.plan_file import LARGEST_BYTES, Plan, PlanFileError, decode_plan
from holdfast.printable import printable
from holdfast.record.leases import Waiting
from holdfast.storage.options import parse_options

with_applying = (
    click.option("--execute", is_flag=True, help="Carry it out; without this it is rehearsed."),
    click.option(
        "--allow",
        "allowed",
        multiple=True,
        metavar="WORD:STREAM",
        help="Allow what the plan needs: repeats-data, skips-data or destructive, with the name "
        "of the stream. Can be repeated.",
    ),
    click.option("--kafka-config", metavar="FILE", help="Properties of a Kafka client."),
    with_storage_options,
    with_format,
)


def applying(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of everything that applies a plan."""
    for option in reversed(with_applying):
        command = option(command)
    return command


@click.command()
@click.argument("plan", metavar="PLAN|JOURNAL")
@click.option(
    "--continue", "continues", is_flag=True, help="Go on with a plan that was interrupted."
)
@applying
def apply(*, plan: str, continues: bool, **given: Any) -> ExitCode:
    """Rehearse a plan on an overlay in memory; with --execute, carry it out.

    A plan that was interrupted is continued with --continue and the directory of its journal, or
    with its file.
    """
    if not continues:
        return run_plan(_read_plan(plan), **given)
    stores = _stores(given)
    found = _read_plan(plan) if plan.endswith(".json") else _journalled(plan, stores)
    telling = Telling(step=_teller(len(found.steps)), waiting=_say_waiting)
    journal = continue_plan(found, stores, telling=telling)
    _say_done(found, journal, form=given["form"])
    return ExitCode.DONE


def run_plan(plan: Plan, *, execute: bool, **given: Any) -> ExitCode:
    """Rehearse a plan, or carry it out."""
    form: str = given["form"]
    if not execute:
        options = parse_options(given["storage_options"])
        stores = RehearsalStores(options=options, kafka_config=given["kafka_config"])
        _say_rehearsal(plan, rehearse(plan, stores), form=form)
        return ExitCode.DONE
    telling = Telling()
    if form == "text":
        telling = Telling(step=_teller(len(plan.steps)), waiting=_say_waiting)
        is_allowed = set(plan.words) <= set(given["allowed"])
        if is_allowed and needs_spark(plan):
            click.echo("Some steps change a Delta table: a Spark session is started.", err=True)
    journal = apply_plan(plan, _stores(given), allowed=set(given["allowed"]), telling=telling)
    _say_done(plan, journal, form=form)
    return ExitCode.DONE


def _stores(given: dict[str, Any]) -> Stores:
    return Stores(
        options=parse_options(given["storage_options"]),
        kafka_config=given["kafka_config"],
        session=lambda: local_session("Changing a Delta table"),
    )


def _read_plan(file: str) -> Plan:
    try:
        with Path(file).open("rb") as opened:
            raw = opened.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"{file} cannot be read: {error.strerror}.") from error
    if len(raw) > LARGEST_BYTES:
        raise PlanFileError(file, f"It is larger than {LARGEST_BYTES:,} bytes.")
    return decode_plan(raw, file)


def _journalled(journal: str, stores: Stores) -> Plan:
    record, plan_id = split_journal(journal)
    return read_journalled_plan(stores.at(str(record)), plan_id)


def _teller(count: int) -> Callable[[int, str], None]:
    def tell(number: int, what: str) -> None:
        width = len(str(count))
        click.echo(printable(f"{number:>{width}}/{count} ✓ {what}"))

    return tell


def _say_waiting(waiting: Waiting) -> None:
    click.echo(
        f"Waiting for the lease of {waiting.stream}: its driver did not release it. "
        f"{waiting.seconds_left:.0f} s at most.",
        err=True,
    )


def _say_done(plan: Plan, journal: str, *, form: str) -> None:
    if form == "json":
        said = {"plan": plan.id, "journal": journal, "steps": len(plan.steps)}
        click.echo(json.dumps({"format": "holdfast.applied", "version": 1, **said}))
        return
    click.echo(printable(f"Done: {plan.summary}"))
    for each in plan.afterwards:
        click.echo(printable(f"Next: {each}"))
    click.echo(printable(f"Undo: holdfast undo {quote(journal)}"))


def _say_rehearsal(plan: Plan, found: Rehearsal, *, form: str) -> None:
    starts = [
        (str(each.checkpoint.location), say_next_start(each)[0]) for each in found.next_starts
    ]
    if form == "json":
        said = {
            "plan": plan.id,
            "changes": [
                {"place": place, "path": each.path, "kind": each.kind}
                for place, each in found.changes
            ],
            "next_starts": [{"checkpoint": place, "says": said} for place, said in starts],
            "not_rehearsed": list(found.not_rehearsed),
        }
        click.echo(json.dumps({"format": "holdfast.rehearsal", "version": 1, **said}))
        return
    click.echo(printable(f"Rehearsed, nothing was changed: {plan.summary}"))
    click.echo("")
    for number, step in enumerate(plan.steps, start=1):
        click.echo(printable(f"  {number:>3}  {describe(step)}"))
    click.echo("")
    for place, each in found.changes:
        sign = {"created": "+", "replaced": "~", "deleted": "-"}[each.kind]
        click.echo(printable(f"  {sign} {place}/{each.path}"))
    for place, start in starts:
        click.echo(printable(f"  Then {place}: {start}"))
    for each_said in found.not_rehearsed:
        click.echo(printable(f"  Not rehearsed: {each_said}"))
    allow = "".join(f" --allow {word}" for word in plan.words)
    click.echo("")
    click.echo(f"Carry it out with: --execute{allow}")
