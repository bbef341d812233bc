"""A sink of the user's own, in any store that has transactions."""
