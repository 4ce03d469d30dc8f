"""Quotas: how much users, groups and projects may store, and have stored."""
