"""Threads of the service's own: one that repeats a step, and how it gives way to who is being answered."""
