"""Links in a checkpoint that lead out of it, to themselves, or nowhere."""

from __future__ import annotations

from pathlib import Path

from tests.fuzz.hostile.case import Hostile, healthy

CANARY = "../outside/canary"


def _case(
    name: str, links: dict[str, str], *names: str, archive: str = "4.2-aggregation"
) -> Hostile:
    def finish(directory: Path) -> None:
        for path, target in links.items():
            link = directory / path
            if link.is_dir():
                link.rename(directory.parent / f"moved-{link.name}")
            link.unlink(missing_ok=True)
            # Relative to the link, as Linux takes them: up to the checkpoint first.
            up = "" if target.startswith("/") else "../" * path.count("/")
            link.symlink_to(f"{up}{target}")

    return Hostile(name=f"link: {name}", make=lambda: healthy(archive), finish=finish, names=names)


OPERATOR, SCHEMA = "state/0/_metadata/metadata", "state/0/0/_metadata/schema"
ROCKS = "4.2-aggregation-rocksdb"

CASES = (
    _case("an entry outside", {"offsets/5": CANARY}, "offsets/5"),
    _case("a commit outside", {"commits/5": CANARY}, "commits/5"),
    _case("metadata outside", {"metadata": CANARY}, "metadata"),
    _case("checksums outside", {"offsets/.5.crc": CANARY}),
    _case("a source's log outside", {"sources/0/5": CANARY}, "sources/0/5"),
    _case("a state file outside", {"state/0/0/6.delta": CANARY}),
    _case("a schema outside", {SCHEMA: CANARY}, SCHEMA),
    _case(
        "an operator outside", {"state/0/_metadata/metadata": CANARY}, "state/0/_metadata/metadata"
    ),
    _case("zips outside", {f"state/0/0/{each}.zip": CANARY for each in range(1, 8)}, archive=ROCKS),
    _case("a device", {"offsets/5": "/dev/zero"}, "offsets/5"),
    _case("a directory of the system", {"state/0/0": "/proc"}),
    _case("the log of offsets outside", {"offsets": "../outside"}, "offsets"),
    _case("the log of commits outside", {"commits": "../outside"}, "commits"),
    _case("state outside", {"state": "../outside"}, "state"),
    _case("sources outside", {"sources": "../outside"}, "sources"),
    _case("an operator's directory outside", {"state/0": "../outside"}),
    _case("a partition outside", {"state/0/0": "../outside"}),
    _case("data outside", {"state/0/0/SSTs": "../outside"}, archive=ROCKS),
    _case("a link to itself", {"offsets/5": "offsets/5", "metadata": "metadata"}),
    _case("two links to each other", {"offsets/5": "offsets/6", "offsets/6": "offsets/5"}),
    _case("a directory in itself", {"state/0/0/again": "state/0/0", "offsets/again": "offsets"}),
    _case("the checkpoint in itself", {"state/0/0/again": ".", "again": "."}),
    _case("a link to nothing", {"offsets/5": "offsets/99", "metadata": "nowhere"}),
    _case("a link to another entry", {"offsets/5": "offsets/4"}),
    _case("a name that steers, outside", {"offsets": "../outside/\x1b[2J\x07"}),
    _case("an entry to a name that steers", {"offsets/5": "../outside/\x1b[2J\x07"}),
)
