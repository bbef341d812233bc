"""A guarded stream into MariaDB, killed between its steps: every row once, no part of a batch.

The chains whole are `python -m campaigns.database_kills`; here a sample of one of them runs.
"""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from campaigns.database_kills.chains import CHAINS, run_chain
from campaigns.judging import assert_passed
from campaigns.outcome import looks_of
from holdfast.drills.history import History
from holdfast.drills.kill import Named
from lab import Kafka
from lab.mariadb import MariaDB

ALWAYS = Named("S5")
"""Everything is at the server, and nothing is committed: the session holds its locks."""
OTHERS = (Named("copying"), Named("S4"), Named("S6"), Named("fenced"))


@pytest.mark.usefixtures("class_archive")
def test_it_is_exact_under_a_sample_of_kills(
    kafka: Kafka, mariadb: MariaDB, tmp_path: Path, *, seed: int
) -> None:
    drawn = random.Random(seed).choice(OTHERS)
    chain = replace(CHAINS["mariadb-merge"], points=[ALWAYS, drawn])
    drilled = run_chain("merge", chain, kafka, server=mariadb, directory=tmp_path)
    assert_passed(drilled.checked)
    assert looks_of(History(drilled.directory))
