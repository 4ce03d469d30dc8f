"""What people read in an answer of the portal."""

from werkzeug.test import TestResponse


def text_of(answer: TestResponse) -> str:
    """Return a page with every run of white space as one space."""
    return " ".join(answer.text.split())
