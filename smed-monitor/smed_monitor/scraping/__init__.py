"""Asking the targets, again and again."""
