"""The jars of the broker and of Spark's connectors: locked in `jars.toml`, fetched by Maven.

Every jar is listed, and none of its dependencies is followed: a transitive resolve of Spark's
connectors asks a repository that is often out of reach.
"""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

from lab.cache import cached, sha256_of_file, sha256_of_text
from lab.errors import DownloadFailedError, DownloadMismatchError
from lab.tools import find_tool

LOCK = Path(__file__).with_name("jars.toml")

_COORDINATES = ("groupId", "artifactId", "version", "classifier")
"""Of a jar, as written in the lock with colons between; few jars have a classifier."""
_DEPENDENCY = (
    "<dependency>{}<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId>"
    "</exclusion></exclusions></dependency>"
)
_PROJECT = (
    "<project><modelVersion>4.0.0</modelVersion><groupId>lab</groupId><artifactId>{}</artifactId>"
    "<version>1</version><dependencies>{}</dependencies></project>"
)


def locked(group: str) -> dict[str, str]:
    """Return the locked jars of a group: coordinates to SHA-256."""
    return _groups()[group]


def spark_group(version: str) -> str:
    """Return the group with the connectors of a version of Spark, such as `3.5`.

    That of development, which has Kafka and s3a too, is the one without its number.
    """
    name = f"spark-{version}"
    return name if name in _groups() else "spark"


def _groups() -> dict[str, dict[str, str]]:
    groups: dict[str, dict[str, str]] = tomllib.loads(LOCK.read_text())
    return groups


def fetch_jars(group: str) -> list[Path]:
    """Return the jars of a group in the cache, downloaded and verified when they are not there."""
    jars = locked(group)
    name = f"jars-{group}-{sha256_of_text(*jars, *jars.values())}"
    directory = cached(name, lambda target: _download(group, jars, target))
    return [directory / _file_name(coordinates) for coordinates in jars]


def _download(group: str, jars: dict[str, str], target: Path) -> None:
    if jars:
        run_maven(group, list(jars), target)
    for coordinates, expected in jars.items():
        found = sha256_of_file(target / _file_name(coordinates))
        if found != expected:
            raise DownloadMismatchError(coordinates, expected=expected, found=found)


def run_maven(group: str, coordinates: list[str], target: Path) -> None:
    """Copy the jars of these coordinates into `target`.

    Raises:
        ToolMissingError: Maven is not installed.
        DownloadFailedError: Maven could not get one of them; carries what it said.
    """
    mvn = find_tool("mvn")
    pom = target / "pom.xml"
    dependencies = "".join(map(_dependency, coordinates))
    pom.write_text(_PROJECT.format(group, dependencies))
    goal = ["dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={target}"]
    maven = subprocess.run(
        [mvn, "-q", "-B", "-f", str(pom), *goal], check=False, capture_output=True, text=True
    )
    if maven.returncode != 0:
        raise DownloadFailedError(group, said=maven.stdout + maven.stderr)


def _dependency(coordinates: str) -> str:
    named = zip(_COORDINATES, coordinates.split(":"), strict=False)
    return _DEPENDENCY.format("".join(f"<{name}>{value}</{name}>" for name, value in named))


def _file_name(coordinates: str) -> str:
    _, *parts = coordinates.split(":")
    return f"{'-'.join(parts)}.jar"
