"""What can go wrong in the portal itself; faults of the selection service are :mod:`ses_client.errors`."""


class WebfaceError(Exception):
    """Base of the portal's own errors; ``str(error)`` is a sentence a person can act on."""


class StartError(WebfaceError):
    """The portal cannot start as configured; the sentence names the setting and the way out."""
