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


def by_its_state(reason: str, element: Element) -> str:
    """Return why an element is refused that is inactive, draining or degraded."""
    return {
        "inactive": f"The site describes it as inactive{because(element)}.",
        "draining": f"The site is emptying it{because(element)}; no file may be added.",
        "degraded": "It is degraded, and elements in good order are left.",
    }[reason]
