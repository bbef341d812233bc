"""Every state that a power cut can leave of a plan: once finished, exactly as without it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast.storage import write_local
from lab.faults.power_cuts import PowerCut, power_cuts
from tests.unit.apply.plans import apply, dying, finish, four_steps, look, make_root, plan_of
from tests.unit.apply.test_kills import AFTER


def cuts(root: Path, *, reordered: int) -> Iterator[PowerCut]:
    plan = plan_of(make_root(root), *four_steps(root))

    def act() -> None:
        with dying():
            apply(plan)

    yield from power_cuts(root, act, reordered=reordered)


def find_wrong(root: Path, *, reordered: int = 3) -> tuple[int, list[PowerCut]]:
    plan = plan_of(root, *four_steps(root))
    wrong, states = [], 0
    for cut in cuts(root, reordered=reordered):
        cut.restore(root)
        states += 1
        finish(plan)
        files = {path: raw for path, raw in look(root).items() if ".holdfast-" not in path}
        if files != AFTER:
            wrong.append(cut)
    return states, wrong


def test_after_any_power_cut_the_second_run_finishes_exactly(tmp_path: Path) -> None:
    states, wrong = find_wrong(tmp_path / "root")
    assert not wrong, wrong[0]
    assert states > 100


def test_a_writer_that_syncs_no_directory_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A removal that comes after its copy was lost is what the journal must never allow."""
    sync = write_local.sync

    def sync_files_only(path: Path) -> None:
        if path.is_file():
            sync(path)

    monkeypatch.setattr(write_local, "sync", sync_files_only)
    root = tmp_path / "root"
    lost = [
        cut
        for cut in cuts(root, reordered=1)
        if "readings/commits/1" not in cut.files
        and not any("/kept/0001" in path for path in cut.files)
    ]
    assert lost
