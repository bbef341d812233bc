"""`holdfast evidence LOCATION -o case.zip`: what is needed to judge a checkpoint, in one zip."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import click

from holdfast.bundle.open import open_checkpoint
from holdfast.bundle.opened import Opened
from holdfast.bundle.pack import Packed, left_out, pack
from holdfast.cli.diagnosis_json import render_diagnosis_json
from holdfast.cli.exit_codes import ExitCode
from holdfast.cli.facts_json import render_facts_json
from holdfast.cli.options import with_storage_options
from holdfast.cli.spark_errors import read_error_file
from holdfast.cli.watch import show_wait
from holdfast.errors import ConfigError
from holdfast.judgement.case import DiagnoseRequest, collect_case
from holdfast.judgement.facts import find_facts
from holdfast.judgement.judge import judge
from holdfast.printable import printable
from holdfast.record.layout import HOME
from holdfast.storage.below import SubdirReader
from holdfast.storage.location import is_inside, parse_location
from holdfast.storage.options import parse_options


@click.command()
@click.argument("location")
@click.option("-o", "--output", required=True, metavar="FILE", help="The zip file to write.")
@click.option(
    "--error", metavar="FILE", help="A log of the driver or a stack trace; - reads stdin."
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@with_storage_options
def evidence(
    *,
    location: str,
    output: str,
    error: str | None,
    force: bool,
    storage_options: tuple[str, ...],
) -> ExitCode:
    """Pack what is needed to judge a checkpoint into one sealed zip file.

    The zip has the small files of the checkpoint, the record of Holdfast beside it, a list of all
    files, the facts and the findings. It never has the content of state files. Secrets are removed,
    and manifest.json lists each removal. `diagnose`, `inspect` and `facts` read the zip like a
    checkpoint.
    """
    target = Path(output)
    if target.exists() and not force:
        raise ConfigError(f"{output} exists. Choose another name, or give --force.")
    options = parse_options(storage_options)
    opened = open_checkpoint(location, options)
    if is_inside(parse_location(output), opened.checkpoint.location):
        raise ConfigError(f"{output} is inside the checkpoint, which is never written to.")
    report = None if error is None else read_error_file(error)
    with show_wait(location):
        packed = _pack(
            opened, DiagnoseRequest(location=location, options=options, error=report, history=True)
        )
    _write(target, packed.data, is_replaced=force)
    for line in _say(output, packed):
        click.echo(printable(line))
    return ExitCode.DONE


def _pack(opened: Opened, looks: DiagnoseRequest) -> Packed:
    case = collect_case(looks)
    below = None
    if opened.root is not None and case.record is not None:
        below = SubdirReader(opened.root, f"{HOME}/{case.record.stream}")
    found = judge(case)
    reports = {
        "facts.json": json.loads(render_facts_json(case, find_facts(case))),
        "findings.json": json.loads(render_diagnosis_json(found)),
    }
    return pack(opened.checkpoint, below, reports)


def _write(target: Path, data: bytes, *, is_replaced: bool) -> None:
    """Write a file that is there complete or not at all, and replace none without being told."""
    try:
        descriptor, name = tempfile.mkstemp(dir=target.parent, prefix=".holdfast-")
        made = Path(name)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            if is_replaced:
                made.replace(target)
            else:
                target.hardlink_to(made)
        finally:
            made.unlink(missing_ok=True)
    except FileExistsError:
        raise ConfigError(f"{target} exists. Choose another name, or give --force.") from None
    except OSError as error:
        raise ConfigError(f"{target} cannot be written: {error.strerror}.") from None


def _say(output: str, packed: Packed) -> list[str]:
    manifest = packed.manifest
    removed = len(manifest.removed)
    lines = [
        f"{output}: {len(manifest.members):,} files, {len(packed.data):,} bytes",
        f"  seal          sha256:{packed.digest}",
        f"  secrets       {removed:,} removed" + (", listed in manifest.json" if removed else ""),
    ]
    lines += [f"  left out      {count:,} files: {why}" for why, count in left_out(manifest)]
    return [*lines, "Read manifest.json before you send the file. Compare the seal after it."]
