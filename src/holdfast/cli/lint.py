"""`holdfast lint PATH…`: what a restart would lose or duplicate, seen in the code."""

from __future__ import annotations

from pathlib import Path

import click

from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.lint_formats import FORMATS
from holdfast.errors import ConfigError
from holdfast.lint.baseline import make_baseline, read_baseline, without_baseline
from holdfast.lint.check import FileReport
from holdfast.linting import lint_code


@click.command()
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--format", "form", type=click.Choice(list(FORMATS)), default="text", show_default=True
)
@click.option("--baseline", metavar="FILE", help="Report only findings that are not in this file.")
@click.option(
    "--write-baseline", is_flag=True, help="Write all findings to the --baseline file and exit."
)
def lint(
    *, paths: tuple[str, ...], form: str, baseline: str | None, write_baseline: bool
) -> ExitCode:
    """Find code that loses or duplicates rows when a stream restarts.

    PATH is a Python file, a notebook (.ipynb), or a directory that is searched for both. The code
    is parsed, never imported or run, and Spark is not needed. To accept a finding, end its line
    with `# holdfast: ignore[HF802]`.
    """
    reports = lint_code(*paths)
    if write_baseline:
        return _write(reports, baseline)
    if baseline is not None:
        reports = _without(reports, Path(baseline))
    for line in FORMATS[form](reports):
        click.echo(line)
    if any(report.findings for report in reports):
        return ExitCode.FOUND
    is_judged = not any(report.unreadable for report in reports)
    return ExitCode.DONE if is_judged else ExitCode.NOT_JUDGED


def _write(reports: list[FileReport], baseline: str | None) -> ExitCode:
    if baseline is None:
        raise ConfigError("--write-baseline needs --baseline FILE, the file to write.")
    Path(baseline).write_text(make_baseline(reports))
    count = sum(len(report.findings) for report in reports)
    click.echo(f"{count:,} findings are in {baseline} now, and are not reported with it again.")
    return ExitCode.DONE


def _without(reports: list[FileReport], baseline: Path) -> list[FileReport]:
    known = read_baseline(baseline.read_text(errors="replace")) if baseline.is_file() else None
    if known is None:
        raise ConfigError(f"{baseline} is not a baseline of holdfast lint.")
    return without_baseline(reports, known)
