"""The lab: real Kafka, PostgreSQL, S3 and Spark on 127.0.0.1, and the tools to kill them.

One implementation with three front doors: `python -m lab up` for a person, the context managers of
this package for scripts, and the fixtures of `lab.fixtures` for pytest.
"""

from __future__ import annotations

from lab.kafka import Kafka
from lab.pgbouncer import PgBouncer
from lab.postgres import Postgres
from lab.s3 import S3

__all__ = ["S3", "Kafka", "PgBouncer", "Postgres"]
