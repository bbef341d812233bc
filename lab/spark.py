"""Spark started the cheap way: one java command, the C1 compiler, an archive of loaded classes.

A process that is given `environment(...)` runs any PySpark program unchanged: `SPARK_HOME` holds a
`spark-submit` of two lines that goes straight to java, and `SPARK_CONF_DIR` the settings. PySpark's
own scripts start a second JVM only to assemble the command line, and copy jars into every session.

The class data sharing archive (JDK 17, `-XX:ArchiveClassesAtExit`) is made once per class path by
`lab.warm_up` and kept in the cache. It is what makes hundreds of kills affordable.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyspark
from pyspark import SparkContext
from pyspark.sql import SparkSession

from holdfast.spark_versions import DELTA_SESSION
from lab.cache import cache_directory, cached, sha256_of_file, sha256_of_text
from lab.jars import fetch_jars, locked, spark_group
from lab.tools import find_tool

SETTINGS = {
    "spark.master": "local[2]",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    # Its default of 50 costs seconds per commit on two cores.
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.session.timeZone": "UTC",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Installation:
    """A PySpark that is installed somewhere, and the jars that it gets in addition to its own."""

    python: Path
    package: Path
    """The directory of the package `pyspark`."""
    connectors: str
    """A group of `jars.toml`."""

    @property
    def has_delta(self) -> bool:
        """Whether Delta is among the jars: there is none for every version of Spark."""
        return self._has("delta-spark")

    @property
    def has_s3a(self) -> bool:
        """Whether s3a, and Kafka with it, is among the jars."""
        return self._has("hadoop-aws")

    def _has(self, artifact: str) -> bool:
        return any(artifact in coordinates for coordinates in locked(self.connectors))


OWN = Installation(
    python=Path(sys.executable),
    package=Path(pyspark.__file__).parent,
    connectors=spark_group(pyspark.__version__.rpartition(".")[0]),
)
"""The one of this Python; `lab.versions` has those of other versions."""

CHEAP_JVM = (
    "-XX:TieredStopAtLevel=1",
    # With one compiler it is 48 MB, which four streams fill within a minute: then the JVM fails.
    "-XX:ReservedCodeCacheSize=240m",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
)
"""Options for a JVM that lives seconds: it would not earn back the second compiler."""

# As in Spark 4.2 `launcher/JavaModuleOptions.java`.
_OPENED = [
    "java.lang",
    "java.lang.invoke",
    "java.lang.reflect",
    "java.io",
    "java.net",
    "java.nio",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
    "sun.nio.ch",
    "sun.nio.cs",
    "sun.security.action",
    "sun.util.calendar",
]
_JVM = [
    "-Xmx1g",
    "-Xss4m",
    "-XX:+IgnoreUnrecognizedVMOptions",
    *(f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in _OPENED),
    "--add-opens=java.security.jgss/sun.security.krb5=ALL-UNNAMED",
    "-Djdk.reflect.useDirectMethodHandle=false",
    "-Dio.netty.tryReflectionSetAccessible=true",
]

_SUBMIT = """\
#!/bin/sh
exec java {options} $HOLDFAST_LAB_JVM -cp "{class_path}" org.apache.spark.deploy.SparkSubmit "$@"
"""

_LOGGING = """\
rootLogger.level = {level}
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{{HH:mm:ss.SSS}} %p %c{{1}}: %m%n%ex
"""


def class_path(installation: Installation = OWN) -> list[Path]:
    """Return every jar on Spark's class path, in the order the archive is made for.

    Pyspark's own are linked into the cache, so that every checkout has the same class path and one
    archive serves them all.
    """
    jars = sorted(installation.package.glob("jars/*.jar"))
    sizes = [f"{jar.name} {jar.stat().st_size}" for jar in jars]
    own = cached(f"pyspark-{sha256_of_text(*sizes)}", lambda target: _link_jars(jars, target))
    return [*sorted(own.glob("*.jar")), *fetch_jars(installation.connectors)]


def _link_jars(jars: list[Path], target: Path) -> None:
    for jar in jars:
        try:
            (target / jar.name).hardlink_to(jar)
        except OSError:  # another file system
            shutil.copy2(jar, target / jar.name)


def spark_home(installation: Installation = OWN) -> Path:
    """Return a SPARK_HOME whose `spark-submit` goes straight to java."""
    jars = class_path(installation)
    text = _SUBMIT.format(options=" ".join(_JVM), class_path=":".join(map(str, jars)))
    name = f"spark-home-{sha256_of_text(text)}"
    return cached(name, lambda home: _make_home(home, text, jars=jars[0].parent))


def _make_home(home: Path, submit: str, *, jars: Path) -> None:
    (home / "jars").symlink_to(jars)
    (home / "bin").mkdir()
    script = home / "bin" / "spark-submit"
    script.write_text(submit)
    script.chmod(0o755)


def archive_path(installation: Installation = OWN) -> Path:
    """Return where the archive for this class path and this java is, or would be."""
    java = Path(find_tool("java")).resolve()
    name = sha256_of_text(spark_home(installation).name, sha256_of_file(java))
    return cache_directory() / f"classes-{name}.jsa"


def environment(
    directory: Path,
    settings: Mapping[str, str],
    *,
    jvm: tuple[str, ...] = CHEAP_JVM,
    log_level: str = "warn",
    installation: Installation = OWN,
) -> dict[str, str]:
    """Return the environment in which a process gets Spark with these settings.

    Args:
        directory: Takes the configuration, the warehouse and Spark's scratch files.
        settings: What `SETTINGS` lacks or what differs from it.
        jvm: Options of the JVM; a benchmark of throughput wants the full compiler: `()`.
        log_level: Level of Spark's own log.
        installation: The PySpark that the process uses.
    """
    configuration, scratch = directory / "conf", directory / "scratch"
    for each in (configuration, scratch):
        each.mkdir(parents=True, exist_ok=True)
    merged = {
        **SETTINGS,
        **(DELTA_SESSION if installation.has_delta else {}),
        "spark.local.dir": str(scratch),
        "spark.hadoop.hadoop.tmp.dir": str(scratch),
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        **settings,
    }
    lines = (f"{name} {value}\n" for name, value in merged.items())
    (configuration / "spark-defaults.conf").write_text("".join(lines))
    logging = configuration / "log4j2.properties"
    logging.write_text(_LOGGING.format(level=log_level))
    return {
        "SPARK_HOME": str(spark_home(installation)),
        "SPARK_CONF_DIR": str(configuration),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_PYTHON": str(installation.python),
        "HOLDFAST_LAB_JVM": " ".join([*jvm, *_jvm_files(logging, scratch, installation)]),
    }


def _jvm_files(logging: Path, scratch: Path, installation: Installation) -> list[str]:
    """Return the JVM's options that name files."""
    # A killed JVM cleans nothing up; what it leaves must go with the directory.
    options = [f"-Djava.io.tmpdir={scratch}", f"-Dderby.system.home={scratch}"]
    options.append(f"-Dlog4j2.configurationFile={logging}")
    archive = archive_path(installation)
    if archive.exists():
        options += [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto"]
    return options


def start_session(directory: Path, settings: Mapping[str, str]) -> SparkSession:
    """Return a Spark session inside this process; the process can have only one JVM."""
    os.environ.update(environment(directory, settings, log_level="error"))
    return SparkSession.builder.getOrCreate()


def end_jvm(spark: SparkSession) -> None:
    """Stop a session together with its JVM, as the end of a driver does; another can be started.

    A session that is stopped leaves the threads of its state stores: they go on uploading.
    """
    gateway: Any = SparkContext._gateway  # noqa: SLF001 - Python has no other way
    spark.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001 - the same
