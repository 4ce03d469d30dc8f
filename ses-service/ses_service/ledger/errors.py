"""Why the ledger does not do what is asked of it."""

from ses_state import _state


class LedgerError(Exception):
    """What was asked of the ledger cannot be done."""


class UnknownPlacementError(LedgerError):
    """No placement has this id, or its record was dropped long after it ended."""


class PlacementEndedError(LedgerError):
    """The placement has ended and cannot be opened."""


class NotYoursError(LedgerError):
    """The placement belongs to another user or node."""


_state.use_classes(
    {
        entry.__name__: entry
        for entry in (LedgerError, UnknownPlacementError, PlacementEndedError, NotYoursError)
    }
)
