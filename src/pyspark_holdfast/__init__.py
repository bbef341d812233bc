"""Makes `format("holdfast")` known to Spark without `hf.register`.

Spark imports packages whose names begin with `pyspark_` when it first looks for a data source in
Python, and takes the class that each calls `DefaultSource`. A package that cannot be imported would
keep it from finding any, so this one has none where PySpark has no such data sources.
"""

from __future__ import annotations

from contextlib import suppress

with suppress(ImportError, AttributeError):
    from holdfast.datasource.source import HoldfastSource as DefaultSource

    __all__ = ["DefaultSource"]
