"""Builds what is preloaded into a driver, with the machine's C compiler."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

from holdfast.errors import HoldfastError

KILL, SEND = (Path(__file__).with_name(f"{name}_shim.c") for name in ("kill", "send"))


class CompilerMissingError(HoldfastError):
    """A kill at a file of the checkpoint needs a C compiler."""

    code = "DRILL_COMPILER_MISSING"

    def __init__(self) -> None:
        super().__init__(
            what="The driver cannot be killed at a file of its checkpoint.",
            why="A small library does that. It is built with cc, which is not on this machine.",
            how="On Debian: apt-get install gcc libc6-dev. Points inside Holdfast need none.",
        )


class NotPreloadableError(HoldfastError):
    """What is in a directory of this name cannot be preloaded."""

    code = "DRILL_DIRECTORY_NOT_PRELOADABLE"

    def __init__(self, directory: Path) -> None:
        super().__init__(
            what=f"Nothing can be preloaded from {str(directory)!r}.",
            why="A small library does the kills; to ld.so a blank or a colon ends its name.",
            how="Keep the drill in a directory without them: --directory.",
        )


def build_shim(source: Path, directory: Path) -> Path:
    """Return the shared library to preload, built into a directory when it is not there yet.

    Raises:
        CompilerMissingError: There is no C compiler.
        NotPreloadableError: The directory has a blank or a colon in its name.
    """
    if re.search(r"[\s:]", str(directory)):
        raise NotPreloadableError(directory)
    library = directory / f"{source.stem}.so"
    if library.exists():
        return library
    compiler = shutil.which("cc")
    if compiler is None:
        raise CompilerMissingError
    half_made = library.with_suffix(".tmp")
    options = ["-shared", "-fPIC", "-O2", "-Wall", "-Werror"]
    subprocess.run([compiler, *options, "-o", half_made, source, "-ldl"], check=True)
    half_made.rename(library)
    return library
