"""Makes `format("holdfast")` known to Spark without `hf.register`.

Spark imports packages whose names begin with `pyspark_` when it first looks for a data source in
Python, and takes the class that each calls `DefaultSource`.
"""

from __future__ import annotations

from holdfast.datasource.source import HoldfastSource as DefaultSource

__all__ = ["DefaultSource"]
