"""Kills and faults in the Python workers of `format("holdfast")`, and what readers see."""
