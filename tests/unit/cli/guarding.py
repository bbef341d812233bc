"""A checkpoint on disk with a pending batch, and the record of its stream beside it."""

from __future__ import annotations

from pathlib import Path

from holdfast.record.contracts import Contract, SinkContract, keep_contract
from holdfast.record.generations import Generation, open_generation
from holdfast.record.leases import Lease, take_lease
from holdfast.record.owner import Owner
from holdfast.record.runs import FAILED, RUNNING, Run, write_run
from holdfast.storage.write import Writer, open_writer
from tests.unit.cli.inspecting import unpack

ELSEWHERE = Owner(host="etl-7", pid=4411)
PLACE = SinkContract(kind="postgres", place="db/public.readings", label="public.readings")


def contract(*places: SinkContract) -> Contract:
    return Contract(
        sources=("FileSource[/srv/in]",),
        sinks=("public.readings",),
        output_mode="append",
        operators=(),
        state_provider="",
        sink_places=places,
    )


class Guarded:
    """A checkpoint with a pending batch, and the record of its stream."""

    def __init__(self, root: Path) -> None:
        unpack("4.2-pending", root).rename(root / "readings")
        self.checkpoint = root / "readings"
        self.record: Writer = open_writer(str(root / "_holdfast/readings"))
        self.open(1, self.checkpoint)

    def open(self, number: int, checkpoint: Path) -> None:
        found = Generation(
            number=number,
            checkpoint=str(checkpoint),
            query_id="86147e39-bda8-4ba1-a79b-5b6eaa588de4",
            first_batch=0,
            why="opened",
            opened_at="2026-11-16T10:00:00+00:00",
        )
        assert open_generation(self.record, found)

    def take(self, owner: Owner = ELSEWHERE) -> Lease:
        return take_lease(self.record, owner)

    def run(self, *places: SinkContract, ended: str = RUNNING) -> None:
        keep_contract(self.record, contract(*places))
        found = Run(
            epoch=1,
            run_id="9bb81035-0948-45be-8066-013af38cbc13",
            generation=1,
            contract=contract(*places).digest,
            spark="4.2.0",
            started_at="2026-11-16T10:00:00+00:00",
            first_batch=0,
            ended=ended,
            ended_at="" if ended == RUNNING else "2026-11-16T11:30:00+00:00",
            error="AnalysisException" if ended == FAILED else "",
        )
        write_run(self.record, found)
