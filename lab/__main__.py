"""`python -m lab`: the lab for a person at a terminal."""

from __future__ import annotations

import contextlib
import shlex
import signal
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import click

from holdfast.errors import HoldfastError
from holdfast.spark_versions import SUPPORTED
from lab.azurite import install_azurite
from lab.check import check
from lab.gcs import install_fake_gcs_server
from lab.jars import fetch_jars
from lab.kafka import Kafka
from lab.matrix import COMPLETE, SMOKE, run_matrix, table
from lab.postgres import Postgres
from lab.predictions import compare_predictions, report
from lab.s3 import ACCESS_KEY, REGION, S3, SECRET_KEY
from lab.spark import environment
from lab.state_rows import FIRST, compare_state
from lab.state_rows import report as state_report
from lab.versions import OTHER_VERSIONS, installation_of
from lab.warm_up import ensure_archive


@click.group(help=__doc__)
def lab() -> None:
    """Group the commands."""


@lab.command("fetch")
def fetch_command() -> None:
    """Download and make everything the lab needs, so that later starts need no network."""
    for group in ("kafka", "spark", "hadoop", "gcs"):
        click.echo(f"{group}: {len(fetch_jars(group))} jars, verified")
    # Go's compiler takes a core for minutes, and everything else waits for the network.
    with ThreadPoolExecutor(1) as beside:
        emulators = beside.submit(lambda: (install_azurite(), install_fake_gcs_server()))
        click.echo(f"class archive: {ensure_archive()}")
        for version in OTHER_VERSIONS:
            installation = installation_of(version)
            click.echo(f"spark {version}: {installation.python}")
            click.echo(f"class archive: {ensure_archive(installation)}")
        click.echo(f"azurite and fake-gcs-server: {', '.join(map(str, emulators.result()))}")


@lab.command("check")
def check_command() -> None:
    """Start every server and spark, do one round trip each, and say whether they are ok."""
    sys.exit(0 if check() else 1)


@lab.command("matrix")
@click.option(
    "--spark", "versions", multiple=True, type=click.Choice([*SUPPORTED]), help="By default all."
)
@click.option(
    "--complete", is_flag=True, help="Kill seven streams in every phase, not three at four."
)
@click.option(
    "--stream", "streams", multiple=True, type=click.Choice([*COMPLETE]), help="By default all."
)
def matrix_command(versions: tuple[str, ...], streams: tuple[str, ...], *, complete: bool) -> None:
    """Run guarded streams on every version of Spark, killed and restarted, and compare all rows."""
    chains = {
        name: points
        for name, points in (COMPLETE if complete else SMOKE).items()
        if not streams or name in streams
    }
    cells = []
    with Postgres() as postgres:
        for cell in run_matrix(versions or [*SUPPORTED], chains, postgres=postgres):
            click.echo(table([cell])[-1])
            cells.append(cell)
    click.echo("")
    for line in table(cells):
        click.echo(line)
    sys.exit(0 if all(cell.is_exact for cell in cells) else 1)


@lab.command("predictions")
@click.option("--spark", "versions", multiple=True, type=click.Choice([*SUPPORTED]))
def predictions_command(versions: tuple[str, ...]) -> None:
    """Restart damaged checkpoints on every version of Spark, and compare with the predictions."""
    found = [compare_predictions(version) for version in versions or [*SUPPORTED]]
    for line in report(found):
        click.echo(line)
    sys.exit(0 if all(each.is_complete for each in found) else 1)


@lab.command("state")
@click.option(
    "--spark", "versions", multiple=True, type=click.Choice([v for v in SUPPORTED if v >= FIRST])
)
def state_command(versions: tuple[str, ...]) -> None:
    """Compare keys and values of state with Spark's own reader, on every version that has one."""
    chosen = versions or tuple(version for version in SUPPORTED if version >= FIRST)
    found = [compare_state(version) for version in chosen]
    for line in state_report(found):
        click.echo(line)
    sys.exit(0 if all(each.is_complete for each in found) else 1)


@lab.command("up")
def up_command() -> None:
    """Start kafka, postgres and s3, print their addresses, and stay until interrupted."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends like Ctrl-C
    with contextlib.suppress(KeyboardInterrupt), ExitStack() as servers:
        scratch = servers.enter_context(tempfile.TemporaryDirectory(prefix="holdfast-lab-"))
        kafka = servers.enter_context(Kafka())
        click.echo(f"kafka      {kafka.address}")
        postgres = servers.enter_context(Postgres())
        click.echo(f"postgres   {postgres.address}")
        s3 = servers.enter_context(S3())
        click.echo(f"s3         {s3.address}  bucket lake, key {ACCESS_KEY}, secret {SECRET_KEY}")
        variables = {
            **environment(Path(scratch), s3.spark_settings()),
            "KAFKA": kafka.address,
            "POSTGRES_DSN": postgres.address,
            "AWS_ENDPOINT_URL": s3.address,
            "AWS_ACCESS_KEY_ID": ACCESS_KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
            "AWS_REGION": REGION,
        }
        exports = (f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())
        file = Path(scratch, "lab.env")
        file.write_text("".join(exports))
        click.echo(f"spark      . {file}   then any PySpark program has Delta, Kafka and s3a")
        click.echo("Ctrl-C ends them and removes their data.")
        signal.pause()


def main() -> None:
    """Run the command; an error of the lab is a message, not a traceback."""
    try:
        lab(prog_name="python -m lab")
    except HoldfastError as error:
        sys.exit(f"{error.code}\n  {error.what}\n  {error.why}\n  {error.how}")


if __name__ == "__main__":
    main()
