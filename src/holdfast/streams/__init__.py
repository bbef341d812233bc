"""Declare, guard and start: a stream that a restart cannot harm."""
