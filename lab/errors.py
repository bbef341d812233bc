"""What can go wrong in the lab, said the way Holdfast says it."""

from __future__ import annotations

from pathlib import Path

from holdfast.drills.log import excerpt
from holdfast.errors import HoldfastError


class ToolMissingError(HoldfastError):
    """A program the lab starts is not on this machine."""

    code = "LAB_TOOL_MISSING"

    def __init__(self, tool: str, *, package: str) -> None:
        self.tool = tool
        super().__init__(
            what=f"The lab cannot start {tool}.",
            why="The program is not on this machine.",
            how=f"On Debian: apt-get install {package}",
        )


class DownloadFailedError(HoldfastError):
    """Maven could not get a jar."""

    code = "LAB_DOWNLOAD_FAILED"
    retryable = True

    def __init__(self, group: str, *, said: str) -> None:
        self.group, self.said = group, said
        super().__init__(
            what=f"The jars for {group} were not downloaded.",
            why=f"Maven said:\n{said.strip()}",
            how="Check that Maven reaches its repository, then try again.",
        )


class InstallFailedError(HoldfastError):
    """A program that the lab needs could not be installed."""

    code = "LAB_INSTALL_FAILED"
    retryable = True

    def __init__(self, command: str, *, said: str) -> None:
        self.said = said
        super().__init__(
            what=f"`{command}` failed.",
            why=f"It said:\n{said.strip()}",
            how="Check that it reaches the place it downloads from, then try again.",
        )


class DownloadMismatchError(HoldfastError):
    """A downloaded file is not the one that was locked."""

    code = "LAB_DOWNLOAD_MISMATCH"

    def __init__(self, name: str, *, expected: str, found: str) -> None:
        self.name, self.expected, self.found = name, expected, found
        super().__init__(
            what=f"The download of {name} is not used.",
            why=f"Its SHA-256 is {found}, and lab/jars.toml says {expected}.",
            how="Find out why before changing lab/jars.toml.",
        )


class WarmUpFailedError(HoldfastError):
    """The run of Spark that makes the class archive did not end well."""

    code = "LAB_WARM_UP_FAILED"

    def __init__(self, name: str, *, said: str) -> None:
        self.said = said
        last = "\n".join(said.strip().splitlines()[-20:])
        super().__init__(
            what=f"The class archive for {name} was not made.",
            why=f"The run of Spark that makes it failed. It said last:\n{last}",
            how="Run `python -m lab check`; it tests Spark and the servers one by one.",
        )


class ServerDidNotStartError(HoldfastError):
    """A server was started and did not answer."""

    code = "LAB_SERVER_DID_NOT_START"

    def __init__(self, name: str, *, why: str, log: Path) -> None:
        self.name, self.log = name, log
        super().__init__(
            what=f"{name} did not start.",
            why=f"{why} From its log:\n{excerpt(log)}",
            how=f"Read {log}.",
        )


class PodsNeedRootError(HoldfastError):
    """This process may not make the namespaces of a pod."""

    code = "LAB_PODS_NEED_ROOT"

    def __init__(self, *, said: str) -> None:
        self.said = said
        super().__init__(
            what="No pod was started.",
            why="Pods are pid, mount and UTS namespaces here, which need root."
            f"{f' unshare said: {said.strip()}' if said.strip() else ''}",
            how="Run it as root, in a container with CAP_SYS_ADMIN or on the machine itself.",
        )


class PodEndedError(HoldfastError):
    """A pod did not print what was waited for."""

    code = "LAB_POD_ENDED"

    def __init__(self, host: str, *, log: Path, awaited: str) -> None:
        self.host, self.log, self.awaited = host, log, awaited
        super().__init__(
            what=f"Pod {host} did not print {awaited!r}.",
            why=f"It ended, or took too long. From its log:\n{excerpt(log)}",
            how=f"Read {log}.",
        )
