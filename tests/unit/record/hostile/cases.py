"""Hostile records: what is planted in a record that was in order, and what a start then says."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from holdfast.record.bounds import MAX_EPOCH
from tests.unit.record.hostile.site import CONTRACT, DIGEST, RUN_ID, Site

G1, G2 = "generations/0001.json", "generations/0002.json"
L2 = "leases/000002.json"
RUN = f"runs/000001-{RUN_ID}.json"
FUTURE_RUN = f"runs/999999-{RUN_ID}.json"
BATCH = f"batches/0001-000001-d{DIGEST[:16]}.json"
HUGE, LONG = f"generations/{'9' * 20}.json", f"generations/{'9' * 200}.json"
KEPT = f"contracts/{CONTRACT.digest}.json"
ESCAPES = "evil\x1b[31m\x07\u202e"
Plant = Callable[[Site], object]


@dataclass(frozen=True, kw_only=True)
class Case:
    """One hostile record."""

    name: str
    plant: Plant
    code: str = ""
    """What refuses the start; empty when the start goes on."""
    is_adopted_again: bool = False
    """Whether the repair needs `checkpoint=` once, because the only generation was moved aside."""


def link(path: str, target: str) -> Plant:
    """Return what puts a link in the place of a file: `victim/…` is outside the root."""

    def plant(site: Site) -> None:
        there = site.around / target if target.startswith("victim") else Path(target)
        site.clear(path).symlink_to(there)

    return plant


def fifo(path: str) -> Plant:
    return lambda site: os.mkfifo(site.clear(path))


def directory(path: str) -> Plant:
    return lambda site: (site.clear(path) / "inner").mkdir(parents=True)


def sparse(path: str) -> Plant:
    """Return what makes a file of 1 TiB that takes no room on disk."""

    def plant(site: Site) -> None:
        with site.clear(path).open("wb") as file:
            file.truncate(1 << 40)

    return plant


def raw(path: str, content: bytes | str) -> Plant:
    return lambda site: site.write(path, content)


def generation(path: str = G2, **changes: object) -> Plant:
    number = int(Path(path).stem)
    return lambda site: site.write(path, site.generation(**{"number": number, **changes}))


def lease(path: str = L2, **changes: object) -> Plant:
    epoch = int(Path(path).stem)
    return lambda site: site.write(path, site.lease(**{"epoch": epoch, **changes}))


def moved(path: str, target: str) -> Plant:
    """Return what moves a directory of the root outside and leaves a link."""

    def plant(site: Site) -> None:
        there = site.around / target
        (site.root / path).rename(there)
        (site.root / path).symlink_to(there)

    return plant


def blocked(path: str) -> Plant:
    """Return what puts a file in the place of a directory of the root."""

    def plant(site: Site) -> None:
        if (site.root / path).exists():
            (site.root / path).rename(site.around / "kept")
        (site.root / path).parent.mkdir(exist_ok=True)
        (site.root / path).write_text("a file")

    return plant


def at_victim(site: Site) -> None:
    site.write(G2, site.generation(number=2, checkpoint=str(site.victim / ".ssh")))


def at_victim_by_dots(site: Site) -> None:
    site.write(G2, site.generation(number=2, checkpoint=f"{site.root}/../../victim/.ssh"))


def first_at_victim(site: Site) -> None:
    site.write(G1, site.generation(checkpoint=str(site.victim / ".ssh")))


def adopted_at_victim(site: Site) -> None:
    site.write(G1, site.generation(checkpoint=str(site.victim), why="adopted"))


def adopted_second(site: Site) -> None:
    (site.victim / "metadata").write_text(json.dumps({"id": site.generation()["query_id"]}))
    changes = {"number": 2, "checkpoint": str(site.victim), "why": "adopted"}
    site.write(G2, site.generation(**changes))


def twice(site: Site) -> None:
    text = json.dumps(site.generation(number=2, checkpoint=f"{site.root}/readings.g2"))
    site.write(G2, text[:-1] + f', "checkpoint": "{site.victim}"}}')


def owner(**changes: object) -> Plant:
    return lambda site: site.write(
        L2, site.lease(epoch=2, released=False, owner={**site.lease()["owner"], **changes})
    )


def batch(rows: str, *, digest: str = DIGEST) -> Plant:
    content = {
        "format": "holdfast.batch",
        "version": 1,
        "generation": 1,
        "batch": 1,
        "digest": digest,
        "rows": rows,
    }
    return lambda site: site.write(BATCH, content)


def batch_with(part: Callable[[Path, Site], object]) -> Plant:
    """Return what writes a right file of a batch, and rows that are not right."""

    def plant(site: Site) -> None:
        batch("batches/0001-000001-e1")(site)
        part(site.record / "batches/0001-000001-e1", site)

    return plant


def linked_rows(rows: Path, site: Site) -> None:
    (rows / "part-0.parquet").unlink()
    rows.rmdir()
    rows.symlink_to(site.victim / "rows")


def deep(kind: str) -> str:
    return f'{{"format": "holdfast.{kind}", "version": 1, "x": {"[" * 100_000}'


GENERATIONS = (
    Case(name="generation at a foreign place", plant=at_victim, code="RECORD"),
    Case(name="generation at a foreign place by dots", plant=at_victim_by_dots, code="RECORD"),
    Case(
        name="first generation at a foreign place",
        plant=first_at_victim,
        code="RECORD",
        is_adopted_again=True,
    ),
    Case(
        name="adopted generation without metadata",
        plant=adopted_at_victim,
        code="RECORD",
        is_adopted_again=True,
    ),
    Case(name="second generation adopted", plant=adopted_second, code="RECORD"),
    Case(name="generation in a bucket", plant=generation(checkpoint="s3://lake/x"), code="RECORD"),
    Case(name="generation of no scheme", plant=generation(checkpoint="hdfs://n/x"), code="RECORD"),
    Case(name="generation of another number", plant=generation(number=1), code="RECORD"),
    Case(name="generation 2^63 in its file", plant=generation(number=2**63), code="RECORD"),
    Case(
        name="generation of 20 digits",
        plant=generation(HUGE),
        code="RECORD",
    ),
    Case(
        name="generation of 200 digits",
        plant=generation(LONG),
        code="RECORD",
    ),
    Case(name="generation after a gap", plant=generation("generations/0005.json"), code="RECORD"),
    Case(name="generation 1024", plant=generation("generations/1024.json"), code="RECORD"),
    Case(name="generation as text", plant=generation(number="2"), code="RECORD"),
    Case(name="generation with a batch below 0", plant=generation(first_batch=-1), code="RECORD"),
    Case(name="generation with escapes", plant=generation(checkpoint=ESCAPES), code="RECORD"),
    Case(
        name="generation with a long path", plant=generation(checkpoint="/" * 9999), code="RECORD"
    ),
    Case(name="generation empty", plant=raw(G2, ""), code="RECORD"),
    Case(name="generation of zero bytes", plant=raw(G2, b"\0" * 4096), code="RECORD"),
    Case(name="generation not UTF-8", plant=raw(G2, b'{"format": "\xff\xfe"}'), code="RECORD"),
    Case(name="generation a list", plant=raw(G2, "[1, 2]"), code="RECORD"),
    Case(name="generation of no format", plant=raw(G2, "{}"), code="RECORD"),
    Case(name="generation with a key twice", plant=twice, code="RECORD"),
    Case(name="generation nested deeply", plant=raw(G2, deep("generation")), code="RECORD"),
    Case(name="generation of the future", plant=generation(version=10**30), code="RECORD"),
    Case(name="generation of 1 TiB", plant=sparse(G2), code="RECORD"),
    Case(name="generation a link outside", plant=link(G2, "victim/generation.json"), code="RECORD"),
    Case(name="generation a link to itself", plant=link(G2, "0002.json"), code="RECORD"),
    Case(name="generation a pipe", plant=fifo(G2), code="RECORD"),
    Case(name="generation a device", plant=link(G2, "/dev/zero"), code="RECORD"),
    Case(name="generation a directory", plant=directory(G2), code="RECORD"),
)
LEASES = (
    Case(name="epoch 2^63-1", plant=lease(f"leases/{2**63 - 1}.json"), code="EPOCH_JUMP"),
    Case(name="epoch of 200 digits", plant=lease(f"leases/{'9' * 200}.json"), code="EPOCH_JUMP"),
    Case(name="last epoch", plant=lease(f"leases/{MAX_EPOCH}.json"), code="EPOCH_JUMP"),
    Case(name="epoch far above the sinks", plant=lease("leases/005000.json"), code="EPOCH_JUMP"),
    Case(name="lease of another epoch", plant=lease(epoch=7), code="RECORD"),
    Case(name="lease with term 1e300", plant=lease(term_s=1e300, released=False), code="RECORD"),
    Case(name="lease with term NaN", plant=lease(term_s=float("nan")), code="RECORD"),
    Case(name="lease with term -1", plant=lease(term_s=-1.0, released=False), code="RECORD"),
    Case(name="lease with escapes", plant=owner(host=ESCAPES), code="RECORD"),
    Case(name="lease with a long owner", plant=owner(host="x" * 10_000), code="RECORD"),
    Case(name="lease with pid 2^70", plant=owner(pid=2**70), code="RECORD"),
    Case(name="lease with a long time", plant=lease(taken_at="1" * 10_000), code="RECORD"),
    Case(name="lease nested deeply", plant=raw(L2, deep("lease")), code="RECORD"),
    Case(name="lease of 1 TiB", plant=sparse(L2), code="RECORD"),
    Case(name="lease a pipe", plant=fifo(L2), code="RECORD"),
    Case(name="lease a link into nothing", plant=link(L2, "victim/none"), code="RECORD"),
    Case(name="lease a directory", plant=directory(L2), code="RECORD"),
    Case(name="lease of a driver that looks alive", plant=lease(term_s=3600, released=False)),
    Case(name="lease under a name that is not ours", plant=raw("leases/0000099.json", "{")),
)
INFORMING = (
    Case(name="run empty", plant=raw(RUN, "")),
    Case(name="run of a later epoch", plant=raw(FUTURE_RUN, "{}")),
    Case(name="run of 1 TiB", plant=sparse(RUN)),
    Case(name="run a link outside", plant=link(RUN, "victim/generation.json")),
    Case(name="run a directory", plant=directory(f"runs/000001-{'0' * 8}-{RUN_ID[9:]}.json")),
    Case(name="contract empty", plant=raw(KEPT, "")),
    Case(name="contract of other content", plant=raw(KEPT, '{"format": "holdfast.contract"}')),
    Case(name="contract a link outside", plant=link(KEPT, "victim/generation.json")),
    Case(name="contract a pipe", plant=fifo(KEPT)),
    Case(name="contract a directory", plant=directory(KEPT)),
    Case(name="acceptance of 19 digits", plant=raw(f"accepted/{'9' * 19}-HF601.json", "{}")),
    Case(name="acceptance of 15 digits", plant=raw(f"accepted/{'9' * 15}-HF601.json", "{}")),
    Case(name="acceptance a directory", plant=directory("accepted/0001-HF601.json")),
)
BATCHES = (
    Case(name="rows outside", plant=batch("../../../../victim/rows"), code="RECORD"),
    Case(name="rows at a full path", plant=batch("/etc"), code="RECORD"),
    Case(name="rows of another batch", plant=batch("batches/0001-000000-e1"), code="RECORD"),
    Case(name="rows of a later epoch", plant=batch("batches/0001-000001-e99"), code="RECORD"),
    Case(name="batch of another digest", plant=batch("x", digest="77" * 32), code="RECORD"),
    Case(name="rows a link outside", plant=batch_with(linked_rows), code="RECORD"),
    Case(
        name="a row file a link outside",
        plant=batch_with(lambda rows, site: (rows / "z").symlink_to(site.victim / "rows")),
        code="RECORD",
    ),
    Case(
        name="a row file a pipe",
        plant=batch_with(lambda rows, _: os.mkfifo(rows / "part-1.parquet")),
        code="RECORD",
    ),
    Case(
        name="rows gone",
        plant=batch_with(lambda rows, _: (rows / "part-0.parquet").unlink()),
        code="RECORD",
    ),
    Case(name="old rows a link outside", plant=link("batches/0001-000000-e1", "victim/rows")),
)
DIRECTORIES = (
    *(
        Case(
            name=f"{kind} a file",
            plant=blocked(f"_holdfast/readings/{kind}"),
            code="RECORD",
            is_adopted_again=kind == "generations",
        )
        for kind in ("generations", "leases", "runs", "contracts", "accepted", "batches", "removed")
    ),
    *(
        Case(
            name=f"{kind} a link outside",
            plant=moved(f"_holdfast/readings/{kind}", "moved"),
            code="RECORD",
            is_adopted_again=kind == "generations",
        )
        for kind in ("generations", "leases", "batches")
    ),
    Case(
        name="record a file",
        plant=blocked("_holdfast/readings"),
        code="RECORD",
        is_adopted_again=True,
    ),
    Case(name="records a file", plant=blocked("_holdfast"), code="RECORD", is_adopted_again=True),
    Case(
        name="record a link outside",
        plant=moved("_holdfast/readings", "moved"),
        code="RECORD",
        is_adopted_again=True,
    ),
    Case(
        name="records a link outside",
        plant=moved("_holdfast", "moved"),
        code="RECORD",
        is_adopted_again=True,
    ),
    Case(name="checkpoint a link outside", plant=moved("readings", "moved"), code="RECORD"),
)
CASES = (*GENERATIONS, *LEASES, *INFORMING, *BATCHES, *DIRECTORIES)
