"""Placements: where files went, and why."""
