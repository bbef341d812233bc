"""`holdfast fleet scan LOCATION…`: one row per checkpoint, for thousands of them."""

from __future__ import annotations

import re
from typing import TypedDict, Unpack

import click

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.fleet_diff_text import render_diff
from holdfast.cli.fleet_json import diff_json, fleet_json
from holdfast.cli.fleet_report import report
from holdfast.cli.fleet_text import render_scan
from holdfast.cli.looks import parse_spark
from holdfast.cli.options import all_of, with_format, with_storage_options
from holdfast.cli.status_line import status_line
from holdfast.errors import ConfigError
from holdfast.fleet.across import IDLE_DAYS
from holdfast.fleet.compare import compare_scans, is_worse
from holdfast.fleet.files import file_for, has_scan, read_rows
from holdfast.fleet.paths import read_locations
from holdfast.fleet.request import DEPTH, WORKERS, FleetRequest
from holdfast.fleet.run import FleetScan, Scanner, run_scan
from holdfast.fleet.scan import FleetScanner
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


class _Asked(TypedDict):
    """What to scan and how, as click passes it."""

    locations: tuple[str, ...]
    depth: int
    exclude: tuple[str, ...]
    owner: str | None
    requests: int
    workers: int
    spark_version: str | None
    since: str | None
    paths: str | None
    by_spark: bool
    storage_options: tuple[str, ...]


@click.group()
def fleet() -> None:
    """Scan thousands of checkpoints, and say what their next restarts do to the data."""


fleet.add_command(report)


@fleet.command()
@click.argument("locations", nargs=-1, metavar="LOCATION...")
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
@click.option(
    "--since",
    metavar="FILE|DIR",
    help="An earlier scan: a checkpoint in which nothing has moved since costs one request.",
)
@click.option(
    "--paths",
    metavar="FILE",
    help="Scan the checkpoints that a file names: one per line, or an S3 Inventory (.csv, .csv.gz)",
)
@click.option(
    "--spark",
    "by_spark",
    is_flag=True,
    help="Read with the executors of a Spark session. Without a cluster this is slower.",
)
@click.option("--check", is_flag=True, help="Exit with 1 unless every next start is safe.")
@with_format
@with_storage_options
def scan(
    *, idle_days: int, to: str | None, check: bool, form: str, **asked: Unpack[_Asked]
) -> ExitCode:
    """Find the checkpoints below each LOCATION, and say what their next restarts do.

    Every checkpoint gets a shallow look with a few requests: its newest log entries, and what one
    page of a listing shows. What was not read is in its row. Nothing is written but the file that
    --to names, and Spark is not needed.
    """
    request = _request(asked)
    scanner = _scanner(request, asked, to=to)
    target = None if to is None else file_for(to)
    with status_line() as show:
        found = run_scan(
            scanner,
            to=target,
            keeps_rows=form == "json",
            idle_days=idle_days,
            tell=lambda number: show(f"{number:,} checkpoints"),
        )
    _show([fleet_json(found)] if form == "json" else render_scan(found, request, target), form)
    return _exit_code(found, check=check)


@fleet.command()
@click.argument("before", metavar="OLD")
@click.argument("after", metavar="NEW")
@click.option("--check", is_flag=True, help="Exit with 1 if anything got worse.")
@with_format
def diff(*, before: str, after: str, check: bool, form: str) -> ExitCode:
    """Say what changed from the scan OLD to the scan NEW, what got worse first.

    OLD and NEW are files that `holdfast fleet scan --to` wrote, or directories: then the newest
    scan in them.
    """
    found = compare_scans(read_rows(before), read_rows(after))
    _show([diff_json(found)] if form == "json" else render_diff(found), form)
    return ExitCode.FOUND if check and is_worse(found) else ExitCode.DONE


def _request(asked: _Asked) -> FleetRequest:
    """Return what to scan.

    Raises:
        ConfigError: An option is not understood, or nothing is named.
    """
    _refuse_bad_pattern(asked["owner"])
    if not asked["locations"] and asked["paths"] is None:
        raise ConfigError("Name a LOCATION to search, or a file of checkpoints with --paths.")
    version = asked["spark_version"]
    return FleetRequest(
        locations=asked["locations"],
        options=parse_options(asked["storage_options"]),
        depth=asked["depth"],
        exclude=asked["exclude"],
        owner=asked["owner"],
        spark=None if version is None else parse_spark(version),
        requests=asked["requests"],
        workers=asked["workers"],
    )


def _scanner(request: FleetRequest, asked: _Asked, *, to: str | None) -> Scanner:
    """Return what scans.

    Raises:
        ConfigError: An option was given that only a scan without Spark has.
    """
    since, paths = asked["since"], asked["paths"]
    named = () if paths is None else read_locations(paths)
    if not asked["by_spark"]:
        # The first of the scans that a directory will keep has none before it.
        is_first = since is not None and since == to and not has_scan(since)
        rows = () if since is None or is_first else read_rows(since)
        earlier = {row.location: row for row in rows}
        return FleetScanner(request, named=named, earlier=earlier)
    if since:
        raise ConfigError("--since is for a scan without Spark: leave --spark out.")
    from holdfast.fleet.on_spark import SparkScanner  # noqa: PLC0415 - on request

    return SparkScanner(request, named=named)


def _show(lines: list[str], form: str) -> None:
    for line in lines:
        click.echo(line if form == "json" else printable(redact(line)))


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
        safe = totals.verdicts.get(Verdict.SAFE, 0)
        return ExitCode.DONE if safe == totals.checkpoints > 0 else ExitCode.FOUND
    return ExitCode.NOT_JUDGED if totals.unread or not totals.checkpoints else ExitCode.DONE
