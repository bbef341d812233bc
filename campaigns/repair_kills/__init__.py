"""Kills `holdfast apply` at every point of every goal, and compares what `--continue` leaves."""
