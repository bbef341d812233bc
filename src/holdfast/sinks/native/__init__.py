"""Spark's own sinks, under the guard only."""
