"""A server of the lab: one process tree on 127.0.0.1 that can be started, stopped and mistreated.

Each kind of server says how it is started and how it shows that it answers; the rest is here. Ports
and data stay the same over `crash` and `start`, so that clients find the same server again.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
from abc import ABC, abstractmethod
from http import HTTPStatus
from pathlib import Path
from typing import ClassVar, Self
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import psutil

from holdfast.drills.kill.waiting import wait_until
from lab.errors import ServerDidNotStartError

START_SECONDS = 60.0
STOP_SECONDS = 20.0
_CLIENT_PORTS = "/proc/sys/net/ipv4/ip_local_port_range"
_LOWEST_PORT = 15_000
_PR_SET_PDEATHSIG = 1
# Bound here: to look it up between fork and exec could wait for a lock that nobody holds any more.
_LIBC = ctypes.CDLL(None)


class Server(ABC):
    """A server process with its own directory and ports; a context manager."""

    name: ClassVar[str]
    """What people call it: kafka, postgres, s3."""

    runs_as: ClassVar[str | None] = None
    """The account it is started as when we are root; some servers refuse to run as root."""

    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    """What `stop` asks it with."""

    def __init__(self, directory: Path | None = None) -> None:
        self._scratch = directory is None
        self.directory = directory or Path(tempfile.mkdtemp(prefix=f"holdfast-{self.name}-"))
        self.directory.mkdir(parents=True, exist_ok=True)
        self.log = self.directory / f"{self.name}.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def address(self) -> str:
        """What a client needs to reach it."""

    @abstractmethod
    def _prepare(self) -> None:
        """Make files the server needs; called before every start, so it must be repeatable."""

    @abstractmethod
    def _command(self) -> list[str]:
        """Return the command that runs the server in the foreground."""

    @abstractmethod
    def _answers(self) -> bool:
        """Do one cheap round trip and return whether the server answered it."""

    def start(self) -> Self:
        """Start it and wait until it answers.

        Raises:
            ServerDidNotStartError: It ended, or did not answer in time; carries the end of its log.
            ToolMissingError: Its program is not on this machine.
        """
        command = self._command()  # first: without the program nothing is made
        self._prepare()
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd=self.directory,
                env={**os.environ, "TMPDIR": str(self.directory)},
                start_new_session=True,
                user=self.runs_as if os.geteuid() == 0 else None,
                preexec_fn=die_with_parent,  # noqa: PLW1509 - runs one system call, takes no lock
            )
        answered = wait_until(lambda: self._ended() or self._answers(), seconds=START_SECONDS)
        if self._ended():
            why = f"It ended with exit code {self._process.returncode}."
            raise ServerDidNotStartError(self.name, why=why, log=self.log)
        if not answered:
            self.crash()
            why = f"It did not answer within {START_SECONDS:.0f} s."
            raise ServerDidNotStartError(self.name, why=why, log=self.log)
        return self

    def stop(self) -> None:
        """Ask it to end, and wait until the last of its processes is gone."""
        tree = self._tree()
        if tree:
            # A paused process would keep the request until it is continued.
            _signal_all(tree, signal.SIGCONT)
            _signal_all(tree[:1], self.stop_signal)
        wait_until(lambda: not any(map(_alive, tree)), seconds=STOP_SECONDS)
        self._kill(tree)

    def crash(self) -> None:
        """Kill every process of it with SIGKILL; `start` then recovers on the same data."""
        self._kill(self._halted_tree())

    def pause(self) -> None:
        """Stop every process of it with SIGSTOP: connections stay open, nothing answers."""
        _signal_all(self._halted_tree(), signal.SIGSTOP)

    def resume(self) -> None:
        """Let a paused server go on."""
        _signal_all(self._tree(), signal.SIGCONT)

    def __enter__(self) -> Self:
        try:
            return self.start()
        except ServerDidNotStartError:
            raise  # its log is named in the message, and stays
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: object) -> None:
        self.stop()
        if self._scratch:
            shutil.rmtree(self.directory, ignore_errors=True)

    def _ended(self) -> bool:
        return self._process is None or self._process.poll() is not None

    def _tree(self) -> list[psutil.Process]:
        """Return the server's process and all below it, the first first; [] when it has ended."""
        if self._process is None or self._ended():
            return []
        try:
            first = psutil.Process(self._process.pid)
            return [first, *first.children(recursive=True)]
        except psutil.NoSuchProcess:
            return []

    def _halted_tree(self) -> list[psutil.Process]:
        """Return the tree with its first process halted, so that no new one is missing in it."""
        _signal_all(self._tree()[:1], signal.SIGSTOP)
        return self._tree()

    def _kill(self, processes: list[psutil.Process]) -> None:
        _signal_all(processes, signal.SIGKILL)
        wait_until(lambda: not any(map(_alive, processes)), seconds=STOP_SECONDS)
        if self._process is not None:
            self._process.wait()


def send_unless_done(request: Request) -> None:
    """Send a request that creates something; that it is there already is no error.

    Raises:
        URLError: The server does not answer, or refuses it.
    """
    try:
        with urlopen(request, timeout=5):  # noqa: S310 - to a server of the lab
            return
    except HTTPError as error:
        if error.code != HTTPStatus.CONFLICT:
            raise


def free_ports(count: int) -> list[int]:
    """Return ports of 127.0.0.1 that nobody listens on now.

    Below the range from which the kernel takes ports for clients: one of those would be taken by
    any connection before the server binds it, or while it is crashed.
    """
    lowest_of_clients = int(Path(_CLIENT_PORTS).read_text().split()[0])
    candidates = random.sample(range(_LOWEST_PORT, lowest_of_clients), 50 * count)
    return list(itertools.islice(filter(_is_free, candidates), count))


def _is_free(port: int) -> bool:
    with socket.socket() as attempt:
        return attempt.connect_ex(("127.0.0.1", port)) != 0


def _alive(process: psutil.Process) -> bool:
    try:
        # A zombie is dead; in a container nobody may ever reap it.
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _signal_all(processes: list[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        try:
            process.send_signal(number)
        except psutil.NoSuchProcess:
            continue


def die_with_parent() -> None:
    """Have the kernel end this process when the lab's thread that started it ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
