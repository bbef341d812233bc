"""`holdfast fleet scan LOCATION…`: one row per checkpoint, for thousands of them."""

from __future__ import annotations

import re
from typing import TypedDict, Unpack

import click

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.fleet_json import fleet_json
from holdfast.cli.fleet_text import render_scan
from holdfast.cli.looks import parse_spark
from holdfast.cli.options import all_of, with_format, with_storage_options
from holdfast.cli.status_line import status_line
from holdfast.errors import ConfigError
from holdfast.fleet.across import IDLE_DAYS
from holdfast.fleet.files import file_for
from holdfast.fleet.run import FleetScan, run_scan
from holdfast.fleet.scan import DEPTH, WORKERS, FleetRequest, FleetScanner
from holdfast.fleet.shallow import MOST_REQUESTS
from holdfast.judgement.judge import Verdict
from holdfast.printable import printable
from holdfast.redact import redact
from holdfast.storage.options import parse_options

_with_search = all_of(
    click.option(
        "--depth",
        type=click.IntRange(min=0),
        default=DEPTH,
        show_default=True,
        help="Search so many directories, one inside the other, below each location.",
    ),
    click.option(
        "--exclude",
        multiple=True,
        metavar="GLOB",
        help="Do not search directories whose name or path matches. Can be repeated.",
    ),
    click.option(
        "--owner",
        metavar="REGEX",
        help="Find the owner in the path below the location: the first group, such as '^([^/]+)/'.",
    ),
    click.option(
        "--requests",
        type=click.IntRange(min=2, max=10_000),
        default=MOST_REQUESTS,
        show_default=True,
        help="Send at most so many requests for one checkpoint. What was not read is in its row.",
    ),
    click.option(
        "--workers",
        type=click.IntRange(min=1, max=512),
        default=WORKERS,
        show_default=True,
        help="Read so many checkpoints at the same time.",
    ),
)


class _Search(TypedDict):
    """The options of a search, as click passes them."""

    depth: int
    exclude: tuple[str, ...]
    owner: str | None
    requests: int
    workers: int


@click.group()
def fleet() -> None:
    """Scan thousands of checkpoints, and say what their next restarts do to the data."""


@fleet.command()
@click.argument("locations", nargs=-1, required=True, metavar="LOCATION...")
@_with_search
@click.option("--spark-version", metavar="VERSION", help="The Spark that will be started: 4.2.")
@click.option(
    "--idle-days",
    type=click.IntRange(min=1),
    default=IDLE_DAYS,
    show_default=True,
    help="Name checkpoints that had no new batch for so many days.",
)
@click.option(
    "--to",
    metavar="FILE|DIR",
    help="Write every row to a file (.parquet or .jsonl), or to a new file in a directory.",
)
@click.option("--check", is_flag=True, help="Exit with 1 unless every next start is safe.")
@with_format
@with_storage_options
def scan(  # noqa: PLR0913 - one argument per option of the command
    *,
    locations: tuple[str, ...],
    spark_version: str | None,
    idle_days: int,
    to: str | None,
    check: bool,
    form: str,
    storage_options: tuple[str, ...],
    **search: Unpack[_Search],
) -> ExitCode:
    """Find the checkpoints below each LOCATION, and say what their next restarts do.

    Every checkpoint gets a shallow look with a few requests: its newest log entries, and what one
    page of a listing shows. What was not read is in its row. Nothing is written but the file that
    --to names, and Spark is not needed.
    """
    _refuse_bad_pattern(search["owner"])
    request = FleetRequest(
        locations=locations,
        options=parse_options(storage_options),
        spark=None if spark_version is None else parse_spark(spark_version),
        **search,
    )
    target = None if to is None else file_for(to)
    with status_line() as show:
        found = run_scan(
            FleetScanner(request),
            to=target,
            keeps_rows=form == "json",
            idle_days=idle_days,
            tell=lambda number: show(f"{number:,} checkpoints"),
        )
    lines = [fleet_json(found)] if form == "json" else render_scan(found, request, target)
    for line in lines:
        click.echo(line if form == "json" else printable(redact(line)))
    return _exit_code(found, check=check)


def _refuse_bad_pattern(pattern: str | None) -> None:
    """Refuse a pattern that Python cannot compile.

    Raises:
        ConfigError: It cannot.
    """
    try:
        re.compile(pattern or "")
    except re.error as error:
        raise ConfigError(f"--owner is not a regular expression: {error}.") from None


def _exit_code(found: FleetScan, *, check: bool) -> ExitCode:
    totals = found.totals
    if check:
        safe = totals.verdicts.get(Verdict.SAFE, 0) - totals.state_unread
        return ExitCode.DONE if safe == totals.checkpoints > 0 else ExitCode.FOUND
    return ExitCode.NOT_JUDGED if totals.unread or not totals.checkpoints else ExitCode.DONE
