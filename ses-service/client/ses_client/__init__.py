"""How the command ``ses`` and the portal reach the selection service."""
