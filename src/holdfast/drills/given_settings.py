"""Which settings a user gives Spark, read before Spark starts.

Afterwards a setting of the user and one that Spark made up look the same.
"""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from pathlib import Path

_DEFAULTS = "spark-defaults.conf"
_PROPERTIES = re.compile(r"--properties-file[ =](\S+)")


def is_given(name: str) -> bool:
    """Return whether Spark is started with a value for this setting."""
    arguments = os.environ.get("PYSPARK_SUBMIT_ARGS", "")
    files = [*_defaults(), *map(Path, _PROPERTIES.findall(arguments))]
    in_file = re.compile(rf"^\s*{re.escape(name)}[\s=:]", re.MULTILINE)
    return f"{name}=" in arguments or any(
        in_file.search(path.read_text(errors="replace")) for path in files if path.is_file()
    )


def _defaults() -> list[Path]:
    """Return the file that Spark reads its settings from, if it is known where Spark is."""
    directory, home = os.environ.get("SPARK_CONF_DIR"), os.environ.get("SPARK_HOME")
    if directory:
        return [Path(directory, _DEFAULTS)]
    if home:
        return [Path(home, "conf", _DEFAULTS)]
    package = find_spec("pyspark")
    places = (package and package.submodule_search_locations) or []
    return [Path(each, "conf", _DEFAULTS) for each in places]
