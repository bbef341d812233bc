"""Checks that the functions a user names exist, before a JVM is started for them."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from holdfast.drills.kill.driver import inherited
from holdfast.errors import ConfigError

_PROGRAM = Path(__file__).with_name("programs") / "names.py"


def check_names(names: Sequence[str]) -> None:
    """Import what is named, in a process of its own: a module may do anything when it is imported.

    Raises:
        ConfigError: A module cannot be imported, or has nothing of that name.
    """
    asked = [sys.executable, str(_PROGRAM), *names]
    ended = subprocess.run(asked, env=inherited(), capture_output=True, text=True, check=False)
    if ended.returncode:
        why = ended.stderr.strip().rpartition("\n")[2]
        raise ConfigError(why or f"{', '.join(names)}: not found, {ended.returncode}.")
