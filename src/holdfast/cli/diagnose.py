"""`holdfast diagnose LOCATION|STREAM`: what is wrong, how it is known, and what repairs it."""

from __future__ import annotations

import sys
from typing import Any

import click

from holdfast.cli.diagnosis_text import render_diagnosis
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.looks import make_looks, with_looks
from holdfast.cli.sarif import say
from holdfast.cli.watch import show_wait
from holdfast.grades import Severity
from holdfast.judgement.case import collect_case
from holdfast.judgement.judge import Judgement, Verdict, judge


@click.command()
@click.argument("location", metavar="LOCATION|STREAM")
@click.option(
    "--error",
    metavar="FILE|-",
    help="A log of the driver or a stack trace, as a file or from standard input.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown", "sarif"]),
    default="text",
    show_default=True,
)
@click.option("--notes", is_flag=True, help="Show every note, not only its code.")
@with_looks
def diagnose(*, location: str, error: str | None, form: str, notes: bool, **given: Any) -> ExitCode:
    """Say whether a restart is safe, what it would lose or repeat, and what repairs that.

    LOCATION is a checkpoint on disk, in a bucket or on HDFS, or the zip of `holdfast evidence`.
    With --root it is the name of a guarded stream, whose ledgers are read too. Nothing is written,
    and Spark is not needed.
    """
    looks = make_looks(location, error, **given)
    with show_wait(looks.location):
        found = judge(collect_case(looks))
    for line in _render(found, form, notes=notes):
        sys.stdout.write(line + "\n")
    return _exit_code(found)


def _render(found: Judgement, form: str, *, notes: bool) -> list[str]:
    # Each is imported when it is asked for: the text is what people wait for.
    if form == "json":
        from holdfast.cli.diagnosis_json import render_diagnosis_json  # noqa: PLC0415

        return [render_diagnosis_json(found)]
    if form == "sarif":
        from holdfast.cli.diagnosis_sarif import render_diagnosis_sarif  # noqa: PLC0415

        return [render_diagnosis_sarif(found)]
    if form == "markdown":
        from holdfast.cli.diagnosis_markdown import render_diagnosis_markdown  # noqa: PLC0415

        return list(render_diagnosis_markdown(found))
    return [say(line) for line in render_diagnosis(found, notes=notes)]


def _exit_code(found: Judgement) -> ExitCode:
    if any(each.severity is not Severity.NOTE for each in found.findings):
        return ExitCode.FOUND
    is_judged = found.verdict not in (Verdict.UNKNOWN, Verdict.NOTHING)
    return ExitCode.DONE if is_judged else ExitCode.NOT_JUDGED
