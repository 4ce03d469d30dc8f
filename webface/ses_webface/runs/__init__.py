"""Runs near the data, which a process of their owner takes."""
