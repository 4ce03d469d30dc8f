"""The state of an element in words: what an administrator stated, why, and until when."""

import numpy as np

from ses_service.model.entities import Element


def because(element: Element) -> str:
    """Return reason and end of its state as they follow a sentence; empty when neither is stated."""
    why = f" ({element.state_reason})" if element.state_reason else ""
    if element.state_until is None:
        return why
    until = np.datetime_as_string(np.datetime64(int(element.state_until), "s"), unit="m")
    return f"{why} until {until.replace('T', ' ')} UTC"


def drained(element: Element) -> str:
    """Return why no file may be added to an element that is being emptied."""
    return f"The site is emptying it{because(element)}; no file may be added."
