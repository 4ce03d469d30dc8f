"""Quotas of file systems, and when they are used up."""
