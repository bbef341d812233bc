"""Situations that a restart meets: made with real parts, diagnosed, then restarted on a copy."""
