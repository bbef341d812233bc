"""Builds the rename shim with the machine's C compiler, once."""

from __future__ import annotations

import subprocess
from pathlib import Path

from lab.cache import cached, sha256_of_text
from lab.tools import find_tool

_SOURCE = Path(__file__).with_name("rename_shim.c")


def rename_shim() -> Path:
    """Return the shared library to preload, built when the cache does not have it."""
    name = f"rename-shim-{sha256_of_text(_SOURCE.read_text())}"
    return cached(name, _build) / "rename_shim.so"


def _build(target: Path) -> None:
    library = target / "rename_shim.so"
    options = ["-shared", "-fPIC", "-O2", "-Wall", "-Werror"]
    subprocess.run(
        [find_tool("cc"), *options, "-o", str(library), str(_SOURCE), "-ldl"], check=True
    )
