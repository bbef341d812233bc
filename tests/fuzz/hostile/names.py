"""Names that lie about what a file is, steer a terminal or lead elsewhere."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from tests.fuzz.hostile.case import COMMIT, Files, Hostile, entry, healthy, heavy

STEERING = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e\n\r\t"
SHOWN = "\\x1b[2J"
LONGEST = "x" * 240
DIGITS = "9" * 5_000


def _case(name: str, files: Files, *shows: str) -> Hostile:
    def make() -> Files:
        return healthy("4.2-aggregation", files)

    return Hostile(name=f"name: {name}", make=make, shows=shows)


def _in_memory(name: str, files: Files, *shows: str) -> Hostile:
    def make() -> Files:
        return healthy("4.2-aggregation", files)

    return Hostile(name=f"name: {name}", make=make, shows=shows, in_memory=True)


def _everywhere(name: str) -> Files:
    """Return files of one name in every directory that is looked into."""
    state = f"state/0/0/{name}"
    places = ("", "offsets/", "commits/", "sources/0/", "state/0/0/", "state/0/_metadata/v2/")
    return {
        **{f"{place}{name}": b"v1\n{}" for place in places},
        f"sources/{name}/0": b"v1\n{}",
        f"state/{name}/0/1.delta": b"",
        f"state/0/{name}/1.delta": b"",
        f"{state}.delta": b"",
        f"{state}.zip": b"",
        f"{state}.delta.crc": b"",
        f"state/0/0/{name}x/1.delta": b"",
        f"state/0/0/SSTs/{name}": b"",
        f"state/0/_stateSchema/{name}/0_x": b"",
    }


def _special(name: str, path: str, kind: str) -> Hostile:
    """Return a case with something at a path that is no file."""

    def finish(directory: Path) -> None:
        target = directory / path
        target.unlink(missing_ok=True)
        (directory / "state/0/0/6.snapshot").unlink()  # or the changes of version 6 do not matter
        if kind == "pipe":
            os.mkfifo(target)
        elif kind == "directory":
            target.mkdir()
        else:
            os.mknod(target, stat.S_IFSOCK | 0o600)

    return Hostile(
        name=f"name: {name}", make=lambda: healthy("4.2-aggregation"), finish=finish, names=(path,)
    )


def _undecodable(directory: Path) -> None:
    for place in ("", "offsets", "commits", "sources/0", "state/0/0"):
        Path(os.fsdecode(os.fsencode(directory / place) + b"/\xff\xfe.tmp")).write_bytes(b"x")


def _deep(directory: Path) -> None:
    """Make directories in each other until the path is as long as it can be."""
    here = os.open(directory / "state/0/0", os.O_RDONLY)
    for _ in range(2_100):
        os.mkdir("d", dir_fd=here)
        inner = os.open("d", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(here)


def _long(directory: Path) -> None:
    """Make a directory that can be listed, with a file in it whose path is too long to be asked."""
    here = os.open(directory / "state/0/0", os.O_RDONLY)
    left = 4_000 - len(os.fsencode(directory / "state/0/0"))
    for length in [*[250] * (left // 251), max(left % 251 - 1, 1)]:
        os.mkdir("d" * length, dir_fd=here)
        inner = os.open("d" * length, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = inner
    os.close(os.open("f" * 250, os.O_CREAT | os.O_WRONLY, dir_fd=here))
    os.close(here)


def _aged(directory: Path) -> None:
    for path, second in (("offsets/0", -(2**40)), ("offsets/1", 2**40), ("metadata", 2**55)):
        os.utime(directory / path, (second, second))


def _made(name: str, finish: object, *shows: str) -> Hostile:
    assert callable(finish)
    return Hostile(
        name=f"name: {name}", make=lambda: healthy("4.2-aggregation"), finish=finish, shows=shows
    )


CASES = (
    _case("what steers a terminal", _everywhere(STEERING), SHOWN),
    _case("only line ends", _everywhere("\n"), "\\n"),
    _case("240 letters", _everywhere(LONGEST), LONGEST),
    _case("an option", _everywhere("--help")),
    _case("digits of another script", _everywhere("٣")),
    _case("digits that are none", _everywhere("²")),
    _case("numbers with zeros in front", _everywhere("007")),
    _case("numbers with a sign", {**_everywhere("-1"), **_everywhere("+1")}),
    _case("numbers as programs write them", {**_everywhere("0x1"), **_everywhere("1e3")}),
    _case("numbers of 19 nines", _everywhere("9" * 19)),
    _case("numbers of 200 digits", _everywhere("9" * 200)),
    _case("spaces", _everywhere(" ")),
    _case("names with a percent", _everywhere("%2e%2e%2foutside")),
    _case("backslashes", _everywhere("..\\..\\outside\\canary")),
    _case("checksums of checksums", {f"offsets/.{'.crc' * 60}": b"", "offsets/..crc": b""}),
    _case("a temp file of everything", {f"offsets/.{'a.' * 100}{'-' * 36}.tmp": b""}),
    _in_memory(
        "parts that lead up",
        {
            "offsets/../../outside/canary": b"x",
            "state/../0/1.delta": b"x",
            "sources/../0": b"x",
            "state/0/../../../outside/canary": b"x",
            "state/0/0/../1.delta": b"x",
            "../canary": b"x",
        },
    ),
    _in_memory(
        "parts that are empty", {"offsets//1": b"x", "/metadata": b"x", "state//0//1.delta": b""}
    ),
    _in_memory("5,000 digits", _everywhere(DIGITS)),
    _in_memory("zeros", _everywhere("\0")),
    heavy(_in_memory("a megabyte", _everywhere("x" * 1_000_000))),
    _in_memory("half a character", _everywhere("\ud800"), "\\ud800"),
    _special("a pipe as an entry", "offsets/5", "pipe"),
    _special("a pipe as metadata", "metadata", "pipe"),
    _special("a pipe as a state file", "state/0/0/6.delta", "pipe"),
    _special("a pipe as a schema", "state/0/0/_metadata/schema", "pipe"),
    _special("a pipe as a source's log", "sources/0/5", "pipe"),
    _special("a socket as an entry", "commits/5", "socket"),
    _special("a directory as an entry", "offsets/5", "directory"),
    _special("a directory as metadata", "metadata", "directory"),
    _made("names that are no text", _undecodable, "\\udcff"),
    heavy(_made("2,100 directories in each other", _deep)),
    _made("a path too long to be asked for", _long),
    _made("times before and after all calendars", _aged),
    Hostile(
        name="name: files where directories should be",
        make=lambda: {
            "metadata": b"",
            "offsets": b"",
            "commits": b"",
            "state": b"",
            "sources": b"",
        },
    ),
    Hostile(
        name="name: nothing but directories of names",
        make=lambda: {f"{name}/{name}": entry("1") for name in ("a", "b", STEERING)},
    ),
    heavy(
        Hostile(
            name="name: 1,000 operators",
            make=lambda: {
                "offsets/0": entry("1"),
                "commits/0": COMMIT,
                "metadata": b"{}",
                **{f"state/{number}/0/1.delta": b"" for number in range(1_000)},
            },
        )
    ),
)
