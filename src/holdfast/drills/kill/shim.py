"""Builds what is preloaded into a driver, with the machine's C compiler."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from holdfast.errors import HoldfastError

KILL, SEND, TRACE, CLOCK = "kill_shim", "send_shim", "trace_shim", "clock_shim"


class CompilerMissingError(HoldfastError):
    """A kill at a file of the checkpoint needs a C compiler."""

    code = "DRILL_COMPILER_MISSING"

    def __init__(self) -> None:
        super().__init__(
            what="The driver cannot be killed at a file of its checkpoint.",
            why="A small library does that. It is built with cc, which is not on this machine.",
            how="On Debian: apt-get install gcc libc6-dev. Points inside Holdfast need none.",
        )


def build_shim(name: str, directory: Path) -> Path:
    """Return the shared library to preload, built into a directory when it is not there yet.

    Raises:
        CompilerMissingError: There is no C compiler.
    """
    library = directory / f"{name}.so"
    if library.exists():
        return library
    compiler = shutil.which("cc")
    if compiler is None:
        raise CompilerMissingError
    half_made = library.with_suffix(".tmp")
    source = Path(__file__).with_name(f"{name}.c")
    options = ["-shared", "-fPIC", "-O2", "-Wall", "-Werror"]
    subprocess.run([compiler, *options, "-o", half_made, source, "-ldl"], check=True)
    half_made.rename(library)
    return library
