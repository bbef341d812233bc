"""Delta's jar for each version of Spark: the one table that code, pages and the lab take it from.

The gate resolves every row against the Maven repository (`tests/lab/test_delta_packages.py`).
"""

from __future__ import annotations

DELTA_PACKAGES = {
    "4.0": "io.delta:delta-spark_2.13:4.0.1",
    "4.1": "io.delta:delta-spark_4.1_2.13:4.4.0",
    "4.2": "io.delta:delta-spark_4.2_2.13:4.4.0",
}
"""By the first two numbers of Spark's version, as `spark.jars.packages` takes it."""
DELTA_SESSION = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}
"""What a session must be told besides, to read and write Delta tables."""


def delta_settings(spark_version: str) -> dict[str, str]:
    """Return the settings with which a session of this version of Spark has Delta.

    Without the jar when the table has no row for the version.
    """
    package = DELTA_PACKAGES.get(".".join(spark_version.split(".")[:2]))
    jar = {} if package is None else {"spark.jars.packages": package}
    return {**jar, **DELTA_SESSION}
