"""Programs of the machine that the lab starts: found, or named with the package that has them."""

from __future__ import annotations

import shutil
from pathlib import Path

from lab.errors import ToolMissingError

POSTGRES_BIN = Path("/usr/lib/postgresql/15/bin")
SYSTEM_BIN = Path("/usr/sbin")
"""Where Debian puts servers, which a user's PATH does not have."""

_PACKAGES = {
    "bash": "bash",
    "go": "golang-go",
    "initdb": "postgresql-15",
    "java": "openjdk-17-jre-headless",
    "mariadb-install-db": "mariadb-server",
    "mariadbd": "mariadb-server",
    "javac": "openjdk-17-jdk-headless",
    "mvn": "maven",
    "node": "nodejs",
    "npm": "npm",
    "pg_basebackup": "postgresql-client-15",
    "pgbouncer": "pgbouncer",
    "postgres": "postgresql-15",
    "unshare": "util-linux",
}


def find_tool(name: str) -> str:
    """Return the path of a program.

    Raises:
        ToolMissingError: It is not on this machine.
    """
    found = shutil.which(name) or shutil.which(name, path=f"{POSTGRES_BIN}:{SYSTEM_BIN}")
    if found is None:
        raise ToolMissingError(name, package=_PACKAGES[name])
    return found
