"""Built-in streams, one after the other in one driver; the program that `recordings` records.

python recorded_streams.py '[{"files": …, "shape": "append", "sinks": […], …}, …]'
"""

from __future__ import annotations

import json
import sys

from pyspark.sql import SparkSession

from holdfast.drills.programs.builtin import run

if __name__ == "__main__":
    session = SparkSession.builder.getOrCreate()
    for config in json.loads(sys.argv[1]):
        run(session.newSession(), config)
