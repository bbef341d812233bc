"""What can go wrong in the lab, said the way Holdfast says it."""

from __future__ import annotations

import re
from pathlib import Path

from holdfast.errors import HoldfastError

_NAMES_AN_ERROR = re.compile(r"^(?!\s+at ).*(Exception|Error|FATAL|ERROR|Caused by)")
_CAUSES = 4
_LAST_LINES = 20


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


class DriverFailedError(HoldfastError):
    """A driver that was to run to its end did not."""

    code = "LAB_DRIVER_FAILED"

    def __init__(self, *, status: str, log: Path) -> None:
        self.status, self.log = status, log
        super().__init__(
            what="The driver did not run to its end.",
            why=f"It ended with {status}. From its log:\n{excerpt(log)}",
            how=f"Read {log}.",
        )


class KillDidNotFireError(HoldfastError):
    """A driver that was to be killed at a point ended some other way: nothing was tested."""

    code = "LAB_KILL_DID_NOT_FIRE"

    def __init__(self, point: str, *, status: str, log: Path) -> None:
        self.point, self.status, self.log = point, status, log
        super().__init__(
            what=f"The kill {point} did not fire.",
            why=f"The driver ended with {status}. From its log:\n{excerpt(log)}",
            how="Check that the run comes by that point; a kill that does not fire proves nothing.",
        )


def excerpt(log: Path) -> str:
    """Return what a log says went wrong: the lines that name an error, then the last lines."""
    if not log.exists():
        return "(no log was written)"
    lines = log.read_text(errors="replace").splitlines()
    causes = [line for line in lines[:-_LAST_LINES] if _NAMES_AN_ERROR.search(line)]
    if len(causes) > 2 * _CAUSES:
        causes = [*causes[:_CAUSES], *causes[-_CAUSES:]]
    return "\n".join([*causes, *lines[-_LAST_LINES:]])
