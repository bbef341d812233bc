"""`holdfast fleet report SCAN -o report.html`: a scan as a page for people."""

from __future__ import annotations

from pathlib import Path

import click

from holdfast.cli.exit_codes import ExitCode
from holdfast.errors import ConfigError
from holdfast.fleet.compare import compare_scans
from holdfast.fleet.files import newest_file, read_rows
from holdfast.report.fleet_page import render_fleet
from holdfast.report.fleet_rows import build, changes_of


@click.command()
@click.argument("scan", metavar="SCAN")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE.html",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The file to write.",
)
@click.option("--title", metavar="TEXT", help="The heading; without it, the name of the scan.")
@click.option("--since", metavar="OLD", help="Say what changed since this earlier scan.")
def report(*, scan: str, output: Path, title: str | None, since: str | None) -> ExitCode:
    """Write a page about SCAN: a file that `fleet scan --to` has written, or its directory.

    The page is one file without scripts that loads nothing: what needs attention, the worst first,
    each with its commands and a text for a ticket; what changed since an earlier scan; by owner;
    across checkpoints; the busiest.
    """
    file = newest_file(scan)
    found = None if since is None else compare_scans(read_rows(since), read_rows(str(file)))
    page = build(read_rows(str(file))).page(
        title=title or f"Streams of the scan {file.name}",
        changes=None if found is None else changes_of(found),
    )
    try:
        output.write_text(render_fleet(page), encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{output} cannot be written: {error.strerror}.") from error
    click.echo(page.answer)
    click.echo(f"Report: {output}")
    return ExitCode.DONE
