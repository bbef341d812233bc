"""A real YARN beside HDFS: a ResourceManager and a NodeManager, started from the same jars."""

from __future__ import annotations

import json
from pathlib import Path
from typing import ClassVar
from urllib.error import URLError
from urllib.request import urlopen

from lab.hdfs import Hdfs, java, together, write_site
from lab.server import Server, free_ports

_MANAGER = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
_NODE = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"
_SCHEDULER = {
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    # The driver is a container too: it may take what it needs.
    "yarn.scheduler.capacity.maximum-am-resource-percent": "1.0",
    "yarn.scheduler.capacity.root.default.maximum-am-resource-percent": "1.0",
}


class Yarn(Server):
    """One node that runs applications; `address` is the web address of its manager."""

    name: ClassVar[str] = "yarn"

    def __init__(self, hdfs: Hdfs, directory: Path | None = None) -> None:
        super().__init__(directory)
        self._hdfs = hdfs
        self._manager = dict(
            zip(
                ("address", "scheduler.address", "resource-tracker.address", "admin.address"),
                free_ports(4),
                strict=True,
            )
        )
        self._web, self._node, self._node_web, self._localizer = free_ports(4)

    @property
    def address(self) -> str:
        """The web address of the ResourceManager."""
        return f"http://127.0.0.1:{self._web}"

    @property
    def logs(self) -> Path:
        """Where containers write what they print."""
        return self.directory / "logs"

    def environment(self) -> dict[str, str]:
        """Return where `spark-submit --master yarn` finds it."""
        configuration = str(self._hdfs.configuration)
        return {"HADOOP_CONF_DIR": configuration, "YARN_CONF_DIR": configuration}

    def _prepare(self) -> None:
        write_site(self._hdfs.configuration / "yarn-site.xml", self._settings())
        write_site(self._hdfs.configuration / "capacity-scheduler.xml", _SCHEDULER)

    def _settings(self) -> dict[str, str]:
        manager = {
            f"yarn.resourcemanager.{name}": f"127.0.0.1:{port}"
            for name, port in self._manager.items()
        }
        return {
            **manager,
            "yarn.resourcemanager.hostname": "127.0.0.1",
            "yarn.resourcemanager.bind-host": "127.0.0.1",
            "yarn.resourcemanager.webapp.address": f"127.0.0.1:{self._web}",
            "yarn.resourcemanager.am.max-attempts": "3",
            "yarn.nodemanager.hostname": "127.0.0.1",
            "yarn.nodemanager.bind-host": "127.0.0.1",
            "yarn.nodemanager.address": f"127.0.0.1:{self._node}",
            "yarn.nodemanager.webapp.address": f"127.0.0.1:{self._node_web}",
            "yarn.nodemanager.localizer.address": f"127.0.0.1:{self._localizer}",
            "yarn.nodemanager.resource.memory-mb": "6144",
            "yarn.nodemanager.resource.cpu-vcores": "4",
            "yarn.scheduler.minimum-allocation-mb": "256",
            "yarn.nodemanager.vmem-check-enabled": "false",
            "yarn.nodemanager.pmem-check-enabled": "false",
            "yarn.nodemanager.local-dirs": str(self.directory / "local"),
            "yarn.nodemanager.log-dirs": str(self.logs),
            # Else a disk that is 90 % full has no room for containers.
            "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
            "yarn.nodemanager.delete.debug-delay-sec": "600",
            "yarn.nodemanager.env-whitelist": "JAVA_HOME,PATH,LANG",
        }

    def _command(self) -> list[str]:
        logs = f"-Dyarn.log.dir={self.directory}"
        return together([*java(self._hdfs.configuration), logs], _MANAGER, _NODE)

    def _answers(self) -> bool:
        try:
            with urlopen(f"{self.address}/ws/v1/cluster/metrics", timeout=2) as answer:  # noqa: S310
                found = json.loads(answer.read())
        except (URLError, OSError, ValueError):
            return False
        return bool(found["clusterMetrics"]["activeNodes"] == 1)
