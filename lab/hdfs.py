"""A real HDFS: a NameNode and a DataNode, started from Maven's jars."""

from __future__ import annotations

import getpass
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar
from urllib.error import URLError
from urllib.request import urlopen
from xml.sax.saxutils import escape

from lab.jars import fetch_jars
from lab.server import Server, free_ports
from lab.tools import find_tool

_NAMENODE = "org.apache.hadoop.hdfs.server.namenode.NameNode"
_DATANODE = "org.apache.hadoop.hdfs.server.datanode.DataNode"
_LIVE = '"NumLiveDataNodes" : 1'
_STATE = "jmx?qry=Hadoop:service=NameNode,name=FSNamesystemState"
_WEB_APPS = ("hdfs", "datanode", "cluster", "node")
"""Directories that the servers look for; the jars of Maven bring none."""
JVM = (
    "-Xmx400m",
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    "-XX:-UsePerfData",
    # What Hadoop's libraries open by reflection, on Java 17.
    "--add-opens=java.base/java.lang=ALL-UNNAMED",
    "--add-opens=java.base/java.util=ALL-UNNAMED",
)
_LOGGING = """\
log4j.rootLogger=WARN,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c{1}: %m%n
"""


class Hdfs(Server):
    """HDFS with one DataNode; `address` is the URL of its root."""

    name: ClassVar[str] = "hdfs"

    def __init__(self, directory: Path | None = None) -> None:
        super().__init__(directory)
        self._name, self._web, self._data, self._data_web, self._data_rpc = free_ports(5)

    @property
    def address(self) -> str:
        """Its root, as Spark takes it."""
        return f"hdfs://127.0.0.1:{self._name}"

    @property
    def web_address(self) -> str:
        """Its root over HTTP, as `holdfast inspect` takes it."""
        return f"webhdfs://127.0.0.1:{self._web}"

    @property
    def configuration(self) -> Path:
        """The directory that Hadoop's clients take their settings from."""
        return self.directory / "conf"

    def spark_settings(self) -> dict[str, str]:
        """Return settings for a session: a small cluster answers soon, so nobody waits 400 ms."""
        delay = "dfs.client.block.write.locateFollowingBlock.initial.delay.ms"
        return {f"spark.hadoop.{delay}": "20", "spark.hadoop.dfs.replication": "1"}

    def client(self) -> list[str]:
        """Return the command that runs a class of Hadoop's client, such as its shell."""
        return java(self.configuration)

    def _prepare(self) -> None:
        if self.configuration.exists():
            return
        draft = self.directory / "draft"
        for each in _WEB_APPS:
            (draft / "webapps" / each).mkdir(parents=True)
        (draft / "log4j.properties").write_text(_LOGGING)
        write_site(draft / "core-site.xml", self._core())
        write_site(draft / "hdfs-site.xml", self._hdfs())
        with self.log.open("ab") as log:
            subprocess.run(
                [*java(draft), _NAMENODE, "-format", "-nonInteractive"],
                check=True,
                stdout=log,
                stderr=log,
            )
        draft.rename(self.configuration)  # last: what has settings has a formatted NameNode

    def _core(self) -> dict[str, str]:
        user = getpass.getuser()
        return {
            "fs.defaultFS": self.address,
            "hadoop.tmp.dir": str(self.directory / "tmp"),
            f"hadoop.proxyuser.{user}.hosts": "127.0.0.1",
        }

    def _hdfs(self) -> dict[str, str]:
        return {
            "dfs.replication": "1",
            "dfs.namenode.name.dir": str(self.directory / "name"),
            "dfs.datanode.data.dir": str(self.directory / "data"),
            "dfs.namenode.rpc-address": f"127.0.0.1:{self._name}",
            "dfs.namenode.http-address": f"127.0.0.1:{self._web}",
            "dfs.datanode.address": f"127.0.0.1:{self._data}",
            "dfs.datanode.http.address": f"127.0.0.1:{self._data_web}",
            "dfs.datanode.ipc.address": f"127.0.0.1:{self._data_rpc}",
            "dfs.datanode.hostname": "127.0.0.1",
            "dfs.namenode.fs-limits.min-block-size": "1024",
            "dfs.namenode.safemode.extension": "0",
            "dfs.permissions.enabled": "false",
        }

    def _command(self) -> list[str]:
        return together(java(self.configuration), _NAMENODE, _DATANODE)

    def _answers(self) -> bool:
        url = f"http://127.0.0.1:{self._web}/{_STATE}"
        try:
            with urlopen(url, timeout=2) as answer:
                return _LIVE in answer.read().decode()
        except (URLError, OSError):
            return False


def java(configuration: Path) -> list[str]:
    """Return the command that runs a class of Hadoop, without the name of the class."""
    class_path = ":".join(map(str, [configuration, *fetch_jars("hadoop")]))
    return [find_tool("java"), *JVM, "-cp", class_path]


def together(command: list[str], *classes: str) -> list[str]:
    """Return a command that runs several classes, and ends when the first of them does."""
    started = "".join(f"{shlex.join([*command, each])} & " for each in classes)
    return [find_tool("bash"), "-c", f"{started}wait -n; kill $(jobs -p); wait"]


def write_site(path: Path, properties: Mapping[str, str]) -> None:
    """Write settings as Hadoop reads them."""
    lines = (
        f"<property><name>{escape(name)}</name><value>{escape(value)}</value></property>\n"
        for name, value in properties.items()
    )
    path.write_text(f"<configuration>\n{''.join(lines)}</configuration>\n")
