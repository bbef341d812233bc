"""`offsets/N` replaced by a driver that was replaced, over Spark Connect: one case, by the seed.

All of them are `python -m campaigns.connect_kills late`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from campaigns.connect_kills.late import CASES, ON_DISK, OnS3, on_s3
from lab import S3, Kafka, Postgres

pytestmark = [pytest.mark.sampled(1), pytest.mark.usefixtures("class_archive")]


@pytest.mark.parametrize("case", CASES)
def test_in_a_bucket(
    kafka: Kafka, postgres: Postgres, *, s3: S3, tmp_path: Path, case: Callable[[OnS3], str]
) -> None:
    with on_s3(kafka, postgres, s3=s3, home=tmp_path / "late") as there:
        assert case(there)


@pytest.mark.parametrize("case", ON_DISK)
def test_on_a_disk(
    kafka: Kafka,
    postgres: Postgres,
    *,
    tmp_path: Path,
    case: Callable[[Kafka, Postgres, Path], str],
) -> None:
    assert case(kafka, postgres, tmp_path / "late")
