"""Examples at the end of the help of a command: lines of shell, as people type them."""

from __future__ import annotations


def examples(*lines: str) -> str:
    """Return the epilog of a command; it is printed as it is, so lines have at most 76 characters."""
    return "\n".join(
        ("\b", "Examples:" if len(lines) > 1 else "Example:", *(f"  {example}" for example in lines))
    )
