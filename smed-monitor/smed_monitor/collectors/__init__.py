"""Collectors: one file per kind of exporter, one line in :mod:`smed_monitor.collectors.registry`."""
