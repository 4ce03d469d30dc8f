"""Texts as Turtle and TOML write them: both have the same strings."""

from __future__ import annotations

import re

from ses_client.errors import SesError
from ses_client.visible import is_hidden, visible

_ESCAPED = re.compile(r'[\\"]')


def literal(text: str) -> str:
    """Return a text in quotation marks; raises SesError for bytes that are no UTF-8: a literal has none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SesError(f"{visible(text)} is no UTF-8, and so cannot be described; rename it.") from None
    escaped = _ESCAPED.sub(lambda match: "\\" + match[0], text)
    return (
        '"' + "".join(_code(character) if is_hidden(character) else character for character in escaped) + '"'
    )


def _code(character: str) -> str:
    return f"\\u{ord(character):04X}" if ord(character) <= 0xFFFF else f"\\U{ord(character):08X}"
