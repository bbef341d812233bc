"""Runs `holdfast` in this process, so that it finds the Spark session, and shows what it said."""

from __future__ import annotations

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

import click

from holdfast.cli.main import run_command


def holdfast(*arguments: str) -> tuple[int, str]:
    """Run the command; return its exit code and everything that it wrote."""
    out = StringIO()
    with redirect_stdout(out), redirect_stderr(out):
        code = run_command(list(arguments))
    click.echo(f"$ holdfast {' '.join(arguments)}\n{out.getvalue()}exit {code}")
    return code, out.getvalue()
