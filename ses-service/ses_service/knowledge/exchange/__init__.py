"""Whole descriptions in and out: import, export, merge, undo, backup."""
