"""Thirty recorded cases for agents: what is broken, the right answer, what must not be done."""
