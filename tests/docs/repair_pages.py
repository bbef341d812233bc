"""The pages about repair, and the commands in them.

A block `console` is run as it stands, on the stream of `repair_root.py`: each line that begins with
`$ ` is a command, and what follows it is what the command prints. A block `text` shows a run with
servers. Of both, every `holdfast` command has to be one.

    python -m tests.docs.repair_pages       write into the blocks `console` what is printed now
"""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from holdfast.version import __version__
from tests.docs.repair_root import make_root
from tests.house.repository import ROOT

RUN = (
    "guides/repair.md",
    "guides/resume.md",
    "guides/replay.md",
    "guides/reset.md",
    "guides/rewind.md",
    "guides/move-clone-snapshot.md",
    "guides/prune-and-retire.md",
)
PAGES = (*RUN, "tutorials/sensors-reset.md")
_BLOCK = re.compile(r"```(console|text|sh)\n(.*?)```", re.DOTALL)
_ID = re.compile(r"[0-9]{8}[-_][0-9]{6}[-_][0-9a-f]{6}")
_CONTRACT = re.compile(r"contracts/[0-9a-f]{16}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\+00:00")


def read_page(name: str) -> str:
    """Return the text of a page."""
    return (ROOT / "docs" / name).read_text()


def shown_blocks(page: str) -> Iterator[list[tuple[str, str]]]:
    """Yield each block that is run: its commands, each with what it prints."""
    for kind, block in _BLOCK.findall(page):
        if kind == "console":
            parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
            assert parts[0] == "", block
            yield list(zip(parts[1::2], parts[2::2], strict=True))


def named_commands(page: str) -> Iterator[list[str]]:
    """Yield the words after `holdfast` of each command in a block; one with a gap is left out."""
    for _, block in _BLOCK.findall(page):
        joined = block.replace("\\\n", " ")
        for line in joined.splitlines():
            found = re.match(r"(?:\$ )?holdfast (.*)", line)
            if found and "…" not in found[1] and not re.search(r"\b[A-Z]{4,}\b", found[1]):
                yield shlex.split(found[1].partition(" > ")[0])


def follow(command: str, srv: Path) -> str:
    """Run one command of a page, and return everything that it prints, with the page's paths."""
    words = f"{shlex.quote(sys.executable)} -m holdfast"
    line = re.sub(r"^holdfast", words, command).replace("/srv", str(srv))
    ran = subprocess.run(
        ["bash", "-c", line],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=srv,
    )
    return ran.stdout.replace(str(srv), "/srv")


def without_ids(text: str) -> str:
    """Return a text without what is another one in every run."""
    text = text.replace(f'"holdfast": "{__version__}"', '"holdfast": "1.0.0"')
    return _CONTRACT.sub("contracts/DIGEST", _TIME.sub("TIME", _ID.sub("ID", text)))


def fill(name: str, srv: Path) -> None:
    """Write into the blocks of a page what their commands print; prose is left as it is."""

    def filled(block: re.Match[str]) -> str:
        if block[1] != "console":
            return block[0]
        commands = re.findall(r"^\$ (.*)$", block[2], re.MULTILINE)
        printed = "".join(f"$ {each}\n{follow(each, srv)}" for each in commands)
        return f"```console\n{printed}```"

    (ROOT / "docs" / name).write_text(_BLOCK.sub(filled, read_page(name)))


if __name__ == "__main__":
    for page_name in RUN:
        with tempfile.TemporaryDirectory() as directory:
            make_root(Path(directory))
            fill(page_name, Path(directory))
