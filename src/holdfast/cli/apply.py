"""`holdfast apply PLAN`: rehearses a plan; with --execute it carries it out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from shlex import quote
from typing import Any

import click

from holdfast.apply.apply import apply_plan, continue_plan
from holdfast.apply.applying import ProgressCallbacks
from holdfast.apply.rehearse import Rehearsal, rehearse
from holdfast.apply.steps.table import describe
from holdfast.apply.stores import RehearsalStores, Stores
from holdfast.cli.allowed_words import check_words
from holdfast.cli.declared_pipeline import code_of, local_session, with_pipeline
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.kept_text import kept_lines
from holdfast.cli.next_start_text import say_next_start
from holdfast.cli.options import all_of, with_format, with_storage_options
from holdfast.cli.plan_text import execute_options, find_spark_table
from holdfast.errors import ConfigError
from holdfast.plan.plan_file import Plan
from holdfast.printable import printable
from holdfast.record.leases import SECONDS_OF_SILENCE, Waiting
from holdfast.repairing import Access, Recheck, journalled_plan, read_plan, recheck_of
from holdfast.report.envelope import render_simple
from holdfast.storage.options import parse_options
from holdfast.wording import count

_MOST_FILES, _MOST_FILES_OF_MANY = 12, 8
"""So many changed files of one place are listed; of more, so many."""

with_applying = all_of(
    click.option("--execute", is_flag=True, help="Carry it out; without this it is rehearsed."),
    click.option(
        "--allow",
        "allowed",
        multiple=True,
        metavar="WORD:STREAM",
        help="Allow what the plan needs: repeats-data, skips-data, destructive, unguarded or "
        "by-hand, with the name of the stream. Can be repeated.",
    ),
    click.option("--kafka-config", metavar="FILE", help="Properties of a Kafka client."),
    click.option(
        "--root",
        "roots",
        multiple=True,
        metavar="LOCATION",
        help="Let the plan change files below this place too. Needed only for places that the "
        "record of the stream does not name. Can be repeated.",
    ),
    with_pipeline,
    with_storage_options,
    with_format,
)
"""The options of everything that applies a plan."""


@click.command()
@click.argument("plan", metavar="PLAN|JOURNAL")
@click.option(
    "--continue", "continues", is_flag=True, help="Go on with a plan that was interrupted."
)
@click.option(
    "--approve",
    "approves",
    is_flag=True,
    help="Rehearse and show the plan, ask you at the terminal, and print a digest. With it the "
    "tool `apply` of `holdfast mcp --allow-apply` carries out this plan, with the permissions of "
    "--allow, within an hour.",
)
@with_applying
def apply(*, plan: str, continues: bool, approves: bool, **given: Any) -> ExitCode:
    """Rehearse a plan on an overlay in memory; with --execute, carry it out.

    A plan that was interrupted is continued with --continue and the directory of its journal, or
    with its file.
    """
    if approves and (continues or given["execute"] or given["form"] == "json"):
        raise ConfigError("--approve goes without --execute, --continue and --format json.")
    if not continues:
        found = read_plan(plan)
        ended = run_plan(found, recheck=recheck_of(found, plan, access_of(given)), **given)
        if approves:
            _approve(found, set(given["allowed"]))
        return ended
    stores = _stores(given)
    found = read_plan(plan) if plan.endswith(".json") else journalled_plan(plan, stores)
    allowed = set(given["allowed"])
    check_words(found, allowed)
    journal = continue_plan(found, stores, allowed=allowed, telling=_telling(found, given["form"]))
    _say_done(found, journal, form=given["form"])
    return ExitCode.DONE


def _approve(plan: Plan, allowed: set[str]) -> None:
    from holdfast.cli.approve import approve_plan  # noqa: PLC0415 - rarely asked for

    approve_plan(plan, allowed)


def access_of(given: dict[str, Any]) -> Access:
    """Return what a plan may use, as the options give it."""
    return Access(
        storage_options=parse_options(given["storage_options"]),
        kafka_config=given["kafka_config"],
        roots=given["roots"],
        **_code_access(given.get("pipeline")),
    )


def _code_access(declared: str | None) -> Access:
    code = code_of(declared)
    return Access() if code is None else Access(spark=code.spark, pipeline=code.pipeline)


def run_plan(plan: Plan, *, execute: bool, recheck: Recheck = lambda: (), **given: Any) -> ExitCode:
    """Rehearse a plan, or carry it out."""
    form: str = given["form"]
    if not execute:
        options = parse_options(given["storage_options"])
        stores = RehearsalStores(
            options=options,
            kafka_config=given["kafka_config"],
            roots=given["roots"],
            code=code_of(given.get("pipeline")),
        )
        rehearsal = rehearse(plan, stores)
        recheck()
        _say_rehearsal(plan, rehearsal, form=form)
        return ExitCode.DONE
    allowed = set(given["allowed"])
    check_words(plan, allowed)
    table = find_spark_table(plan)
    if form == "text" and set(plan.words) <= allowed and table:
        click.echo(f"Some steps change {table}: a Spark session is started.", err=True)
    journal = apply_plan(
        plan, _stores(given), allowed=allowed, telling=_telling(plan, form), recheck=recheck
    )
    _say_done(plan, journal, form=form)
    return ExitCode.DONE


def _stores(given: dict[str, Any]) -> Stores:
    return Stores(
        options=parse_options(given["storage_options"]),
        kafka_config=given["kafka_config"],
        session=lambda: local_session("Changing a table"),
        roots=given["roots"],
        code=code_of(given.get("pipeline")),
    )


def _telling(plan: Plan, form: str) -> ProgressCallbacks:
    """Return how the steps are told while they are carried out; JSON is one answer at the end."""
    count = len(plan.steps)

    def tell(number: int, what: str) -> None:
        click.echo(printable(f"{number:>{len(str(count))}}/{count} ✓ {what}"))

    return (
        ProgressCallbacks(step=tell, waiting=_waiting_teller())
        if form == "text"
        else ProgressCallbacks()
    )


def _waiting_teller() -> Callable[[Waiting], None]:
    """Return what says that a lease is waited for: at once, then every ten seconds."""
    said_at: dict[str, float] = {}

    def say(waiting: Waiting) -> None:
        if waiting.seconds_waited - said_at.get(waiting.stream, -math.inf) < SECONDS_OF_SILENCE:
            return
        said_at[waiting.stream] = waiting.seconds_waited
        how_long = f"for {waiting.seconds_waited:.0f} s so far"
        end = waiting.say_end("the plan", refused="without a change")
        said = f"Waiting for the lease of {waiting.stream}, of {waiting.lease.owner}, {how_long}"
        click.echo(printable(f"{said}. {end}."), err=True)

    return say


def _say_done(plan: Plan, journal: str, *, form: str) -> None:
    if form == "json":
        said = {"plan": plan.id, "journal": journal, "steps": len(plan.steps)}
        click.echo(render_simple("applied", said))
        return
    click.echo(printable(f"Done: {plan.summary}"))
    for each in plan.afterwards:
        click.echo(printable(f"Next: {each}"))
    for each in kept_lines(plan):
        click.echo(printable(each))
    click.echo(printable(f"Undo: holdfast undo {quote(journal)}"))


def rehearsal_fields(plan: Plan, found: Rehearsal) -> dict[str, object]:
    """Return a rehearsal as the fields of its JSON form."""
    return {
        "plan": plan.id,
        "changes": [
            {"place": place, "path": each.path, "kind": each.kind} for place, each in found.changes
        ],
        "next_starts": [{"checkpoint": place, "says": said} for place, said in _starts(found)],
        "not_rehearsed": list(found.not_rehearsed),
    }


def _starts(found: Rehearsal) -> list[tuple[str, str]]:
    """Return what the next start of each changed checkpoint does."""
    return [(str(each.checkpoint.location), say_next_start(each)[0]) for each in found.next_starts]


def _changed_lines(found: Rehearsal) -> Iterator[str]:
    """Yield the files that change, by place and kind; of many the first, and how many more."""
    groups: dict[tuple[str, str], list[str]] = {}
    for place, each in found.changes:
        sign = {"created": "+", "replaced": "~", "deleted": "-"}[each.kind]
        groups.setdefault((sign, place), []).append(each.path)
    for (sign, place), paths in groups.items():
        shown = paths if len(paths) <= _MOST_FILES else paths[:_MOST_FILES_OF_MANY]
        yield from (f"  {sign} {place}/{path}" for path in shown)
        if more := len(paths) - len(shown):
            yield f"  {sign} … and {count(more, 'more file')} in {place} (--format json has all)"


def _say_rehearsal(plan: Plan, found: Rehearsal, *, form: str) -> None:
    starts = _starts(found)
    if form == "json":
        click.echo(render_simple("rehearsal", rehearsal_fields(plan, found)))
        return
    click.echo(printable(f"Rehearsed, nothing was changed: {plan.summary}"))
    click.echo("")
    for number, step in enumerate(plan.steps, start=1):
        click.echo(printable(f"  {number:>3}  {describe(step)}"))
    click.echo("")
    for line in _changed_lines(found):
        click.echo(printable(line))
    for place, start in starts:
        click.echo(printable(f"  Then {place}: {start}"))
    for each_said in found.not_rehearsed:
        click.echo(printable(f"  Not rehearsed: {each_said}"))
    click.echo("")
    click.echo(f"Carry it out with: {execute_options(plan)}")
