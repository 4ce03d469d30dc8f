"""``ses elements``: one file per command."""
