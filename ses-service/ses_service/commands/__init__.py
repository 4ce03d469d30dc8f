"""The ``ses-service`` command."""
