"""All operators as guarded streams side by side in one driver; the program that is killed.

python driver.py HOME OPERATOR …
"""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

from campaigns.prove_state.operators import OPERATORS


def main() -> None:
    """Let every stream read all files that are there."""
    home, *names = sys.argv[1:]
    spark = SparkSession.builder.getOrCreate()
    queries = [
        query
        for name in names
        for query in OPERATORS[name]
        .pipeline(Path(home))
        .start(spark, trigger={"availableNow": True})
        .values()
    ]
    for query in queries:
        query.awaitTermination()


if __name__ == "__main__":
    main()
