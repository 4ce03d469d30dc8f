"""Health: every link between the parts, as the selection service sees it."""
