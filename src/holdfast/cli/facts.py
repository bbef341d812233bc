"""`holdfast facts LOCATION|STREAM`: the nine facts, each with where it was read."""

from __future__ import annotations

import sys
from typing import Any

import click
from msgspec.structs import replace

from holdfast.cli.diagnosis_text import say_nothing
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.facts_text import render_all_facts
from holdfast.cli.looks import make_looks, with_looks
from holdfast.cli.options import with_format
from holdfast.cli.sarif import say
from holdfast.cli.watch import show_wait
from holdfast.evidence.case import Case
from holdfast.evidence.outputs.output import NotRead
from holdfast.formats.event_log.history import NotReadLog
from holdfast.judgement.case import collect_case
from holdfast.judgement.facts import find_facts
from holdfast.lint.query_in_code import NoQuery, QueryInCode
from holdfast.sources.probe import NotProbed


@click.command()
@click.argument("location", metavar="LOCATION|STREAM")
@click.option(
    "--code",
    "program",
    metavar="FILE[:NAME]",
    help="The program of the query: sink, output mode, trigger and checkpoint are read from its "
    "source, which is parsed and never run. NAME is the query's name, the function that starts it "
    "or the line of its start, if the file has several.",
)
@with_format
@with_looks
def facts(*, location: str, program: str | None, form: str, **given: Any) -> ExitCode:
    """Show the nine facts that any repair begins with, each with where it was read.

    What is not known names the command that would tell. Nothing is written, and Spark is not
    needed.
    """
    looks = replace(make_looks(location, **given), history=True)
    with show_wait(looks.location):
        case = collect_case(looks)
    code = None if program is None else _read_code(program, case)
    found = find_facts(case, code)
    if form == "json":
        from holdfast.cli.facts_json import render_facts_json  # noqa: PLC0415 - slow to import

        sys.stdout.write(render_facts_json(case, found) + "\n")
    else:
        first = [say_nothing(case), ""] if case.checkpoint.is_empty else []
        lines = (*first, *render_all_facts(case, found), *_say_unread(case))
        sys.stdout.writelines(say(line) + "\n" for line in lines)
    is_unread = bool(_say_unread(case)) or isinstance(code, NoQuery)
    return ExitCode.NOT_JUDGED if case.checkpoint.is_empty or is_unread else ExitCode.DONE


def _read_code(program: str, case: Case) -> QueryInCode | NoQuery:
    from holdfast.cli.program_option import read_code  # noqa: PLC0415 - the parser

    return read_code(program, case.checkpoint.location)


def _say_unread(case: Case) -> list[str]:
    """Return what was asked for and could not be read."""
    sinks = [
        f"{each.display_name}: {each.why}" for each in case.outputs if isinstance(each, NotRead)
    ]
    sources = [
        f"source {each.source}, {each.display_name}: {each.found.why}"
        for each in case.sources
        if isinstance(each.found, NotProbed)
    ]
    record = [] if case.record_unread is None else [f"the record: {case.record_unread}"]
    unlisted = None if case.history is None else case.history.unlisted
    runs = [] if unlisted is None else [f"the runs of the stream: {unlisted}"]
    unread = [*record, *runs, *sources, *sinks, *_say_unread_log(case)]
    return ["", *(f"Not read: {each}" for each in unread)] if unread else []


def _say_unread_log(case: Case) -> list[str]:
    """Return why the event log that was named tells nothing; empty if it was read."""
    log = case.event_log
    if isinstance(log, NotReadLog):
        return [f"the event log {log.location}: {log.why}"]
    is_empty = log is not None and not log.applications
    return [f"the event log {log.location}: there is none of Spark"] if log and is_empty else []
