"""A pod, as far as one machine can have it: a program in pid, mount and UTS namespaces of its own.

The program is pid 1 there, with its own `/proc`, host name and boot id: to a lease it is a process
on another machine. Network and files are those of this machine, and there is no kubelet: whoever
started the pod sends it the signals.

    with Pod("stream-7f9c", [sys.executable, "stream.py"], environment={}, log=log) as pod:
        pod.wait_for("running")
        pod.terminate()

Needs root.
"""

from __future__ import annotations

import os
import signal
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from holdfast.drills.kill.waiting import wait_until
from lab.errors import PodEndedError, PodsNeedRootError
from lab.server import die_with_parent
from lab.tools import find_tool

_NAMESPACES = ["--pid", "--uts", "--mount", "--fork", "--kill-child", "--mount-proc"]
_BECOME = (
    'hostname "$1" && mount --bind "$2" /proc/sys/kernel/random/boot_id && shift 2 && exec "$@"'
)
_SECONDS = 120.0


class Pod:
    """A program that runs in a pod; a context manager, which kills what is left at its end."""

    def __init__(
        self, host: str, command: Sequence[str], *, environment: Mapping[str, str], log: Path
    ) -> None:
        """Start it.

        Args:
            host: Its host name.
            command: What runs there, as pid 1.
            environment: Added to that of this process.
            log: A new file for what it prints.
        """
        self.host = host
        self.log = log
        boot = log.with_suffix(".boot-id")
        boot.write_text(f"{uuid.uuid4()}\n")
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    find_tool("unshare"),
                    *_NAMESPACES,
                    "sh",
                    "-c",
                    _BECOME,
                    "pod",
                    host,
                    str(boot),
                    *command,
                ],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env={**os.environ, **environment},
                preexec_fn=die_with_parent,  # noqa: PLW1509 - runs one system call, takes no lock
            )

    @property
    def said(self) -> str:
        """What it has printed so far."""
        return self.log.read_text(errors="replace")

    @property
    def is_running(self) -> bool:
        """Whether it has not ended."""
        return self._process.poll() is None

    def wait_for(self, text: str) -> None:
        """Wait until it has printed a text.

        Raises:
            PodEndedError: It has ended first, or the time was over.
        """
        wait_until(lambda: text in self.said or not self.is_running, seconds=_SECONDS)
        if text not in self.said:
            raise PodEndedError(self.host, log=self.log, awaited=text)

    def terminate(self) -> None:
        """Send SIGTERM to its pid 1, as a kubelet does first."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL to its pid 1, as a kubelet does after the grace period; all of it ends."""
        self._signal(signal.SIGKILL)

    def wait(self, seconds: float = _SECONDS) -> bool:
        """Wait until it has ended; return whether it has."""
        return wait_until(lambda: not self.is_running, seconds=seconds)

    @property
    def exit_code(self) -> int | None:
        """Of its program; None while it runs."""
        return self._process.poll()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.is_running:
            self._process.kill()  # the kernel then kills its pid 1, and with it the rest
            self._process.wait()

    def _signal(self, number: signal.Signals) -> None:
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        (first,) = map(int, children.read_text().split())
        os.kill(first, number)


def check_pods() -> None:
    """Find out whether pods can be started here.

    Raises:
        PodsNeedRootError: They cannot.
    """
    tried = subprocess.run(
        [find_tool("unshare"), *_NAMESPACES, "true"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if os.geteuid() != 0 or tried.returncode != 0:
        raise PodsNeedRootError(said=tried.stderr)
