"""Pods of one stream, stopped and replaced: one driver at a time, and every row exactly once.

The ways that wait for a lease to expire: `python -m campaigns.pods`.
"""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from click.testing import CliRunner

from campaigns.pods import main, open_stage, replace_pods
from lab import Postgres


@pytest.mark.skipif(os.geteuid() != 0, reason="the namespaces of a pod need root")
@pytest.mark.usefixtures("class_archive")
def test_a_pod_is_replaced_without_a_wait_and_without_a_row_twice(
    postgres: Postgres, *, tmp_path: Path, seed: int
) -> None:
    way = random.Random(seed).choice(["graceful", "overlap"])
    with open_stage(postgres, tmp_path / way, seed=str(seed)) as stage:
        found = replace_pods(stage, way, rounds=1)
    assert (stage.missed, found.exact) == ([], True)


def test_without_root_no_pod_is_pretended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    ran = CliRunner().invoke(main, [])
    assert ran.exit_code == 1
    assert "No pod was started" in ran.output
