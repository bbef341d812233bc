"""`holdfast check MODULE:PIPELINE`: whether new code can continue on its checkpoints, for CI."""

from __future__ import annotations

import click

from holdfast.cli.check_json import check_json
from holdfast.cli.check_lines import check_lines, worst
from holdfast.cli.declared_pipeline import STARTING_SPARK, load_pipeline, local_session
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.options import with_format
from holdfast.cli.progress import progress
from holdfast.rules.compatibility import Compatibility


@click.command()
@click.argument("declared", metavar="MODULE:PIPELINE")
@click.option("--stream", "streams", multiple=True, metavar="NAME", help="Check only this stream.")
@click.option("--root", help="Where checkpoints and records are, instead of the pipeline's root.")
@with_format
def check(*, declared: str, streams: tuple[str, ...], root: str | None, form: str) -> ExitCode:
    """Say whether new code can continue on its checkpoints, before it is deployed.

    The functions of the pipeline are called with a local Spark session, and their plans are
    compared with the contract of the last run and with the checkpoint. No query is started and
    nothing is written. The exit code is 1 when a stream is incompatible and 3 when something
    could not be compared.
    """
    with progress("holdfast.check") as shown:
        shown.say(f"importing {declared}")
        pipeline = load_pipeline(declared)
        shown.say(STARTING_SPARK)
        spark = local_session("Checking a pipeline")
        found = pipeline.check(spark, only=streams or None, root=root)
    if form == "json":
        click.echo(check_json(pipeline.name, found))
    else:
        for line in check_lines(found):
            click.echo(line)
    return _exit_code(worst(found))


def _exit_code(verdict: Compatibility) -> ExitCode:
    codes = {
        Compatibility.INCOMPATIBLE: ExitCode.FOUND,
        Compatibility.UNKNOWN: ExitCode.NOT_JUDGED,
    }
    return codes.get(verdict, ExitCode.DONE)
