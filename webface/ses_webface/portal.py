"""What views reach for: the objects one application was made with, and who is signed in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

from flask import current_app, g

from ses_webface.accounts.services import AccountService, Person
from ses_webface.database import Database
from ses_webface.metrics import Metrics
from ses_webface.selection_client import SelectionService


@dataclass(frozen=True, slots=True)
class Portal:
    """The parts of one application; ``clock`` gives seconds since the epoch."""

    database: Database
    accounts: AccountService
    selection: SelectionService
    metrics: Metrics
    clock: Callable[[], float]


def portal() -> Portal:
    """Return the parts of the running application."""
    return cast(Portal, current_app.extensions["ses_webface"])


def person() -> Person:
    """Return who is signed in; only views that require signing in may call it."""
    return cast(Person, g.person)
