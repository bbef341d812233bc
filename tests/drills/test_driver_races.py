"""Real drivers of one stream at the same time: one runs, the other waits; nothing is duplicated.

More of them, and on S3, is `python -m campaigns.postgres_races`.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from campaigns.postgres_races import make_course, race, wait_of_standby
from holdfast.record.leases import TERM_S
from lab import Kafka, Postgres

pytestmark = pytest.mark.usefixtures("class_archive")


def test_of_two_drivers_started_at_once_one_runs_at_a_time(
    kafka: Kafka, postgres: Postgres, tmp_path: Path
) -> None:
    held = race(make_course(kafka, postgres, tmp_path))
    assert len(held) == 2 or held[0][1] - held[0][0] > TERM_S  # it kept the other one waiting


def test_a_driver_that_waits_goes_on_soon_after_the_other_is_killed(
    kafka: Kafka, postgres: Postgres, tmp_path: Path
) -> None:
    assert wait_of_standby(make_course(kafka, postgres, tmp_path)) < TERM_S / 2
