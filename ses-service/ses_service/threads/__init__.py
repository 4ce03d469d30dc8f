"""Threads of the service's own: one that repeats a step, and how it stands with what it reads."""
