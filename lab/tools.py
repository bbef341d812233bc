"""Programs of the machine that the lab starts: found, or named with the package that has them."""

from __future__ import annotations

import shutil
from pathlib import Path

from lab.errors import ToolMissingError

POSTGRES_BIN = Path("/usr/lib/postgresql/15/bin")

_PACKAGES = {
    "cc": "gcc libc6-dev",
    "initdb": "postgresql-15",
    "java": "openjdk-17-jre-headless",
    "mvn": "maven",
    "postgres": "postgresql-15",
}


def find_tool(name: str) -> str:
    """Return the path of a program.

    Raises:
        ToolMissingError: It is not on this machine.
    """
    found = shutil.which(name) or shutil.which(name, path=POSTGRES_BIN)
    if found is None:
        raise ToolMissingError(name, package=_PACKAGES[name])
    return found
