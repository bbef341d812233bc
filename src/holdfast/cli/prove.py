"""`holdfast prove MODULE:PIPELINE`: whether the sinks hold exactly what they must."""

from __future__ import annotations

import click

from holdfast.cli.declared_pipeline import STARTING_SPARK, load_pipeline, local_session
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.options import with_format
from holdfast.cli.progress import progress
from holdfast.cli.prove_json import proof_json
from holdfast.cli.prove_lines import named, proof_lines
from holdfast.proof.values import Proof, ProofVerdict

_CODES = {
    ProofVerdict.EXACT: ExitCode.DONE,
    ProofVerdict.NOT_EXACT: ExitCode.FOUND,
    ProofVerdict.NOT_COMPARED: ExitCode.NOT_JUDGED,
}


@click.command()
@click.argument("declared", metavar="MODULE:PIPELINE")
@click.argument("streams", metavar="[STREAM]...", nargs=-1)
@click.option("--root", help="Where checkpoints and records are, instead of the pipeline's root.")
@click.option(
    "--from",
    "began",
    metavar="OFFSETS|earliest",
    help="Where the streams began to read, for a checkpoint that no longer says it: Kafka offsets "
    "as JSON, or earliest.",
)
@with_format
def prove(
    *,
    declared: str,
    streams: tuple[str, ...],
    root: str | None,
    began: str | None,
    form: str,
) -> ExitCode:
    """Prove from the data that no row was lost, duplicated or altered.

    The functions of the pipeline run again as Spark batch jobs, over exactly what the ledger of
    each sink says has arrived. The rows that they give are compared with those of the sink, all
    of them. Nothing is written, and the streams may run meanwhile. The exit code is 1 when a
    table is not exact and 3 when something could not be compared.
    """
    with progress("holdfast.proof") as shown:
        shown.say(f"importing {declared}")
        pipeline = load_pipeline(declared)
        shown.say(STARTING_SPARK)
        spark = local_session("Proving a pipeline")
        found: Proof = pipeline.prove(spark, only=streams or None, root=root, began=began)
    found = named(found, declared)
    if form == "json":
        click.echo(proof_json(found))
    else:
        for line in proof_lines(found):
            click.echo(line)
    return _CODES[found.verdict]
