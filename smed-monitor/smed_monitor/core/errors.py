"""Every failure the monitor knows by name.  Messages are for people: cause first, then what to do."""

MAX_WORDS = 500  # characters; each element of a target repeats them


class MonitorError(Exception):
    """Base of all failures raised on purpose in this package."""


class SettingsError(MonitorError):
    """The settings file cannot be used; the message names the file and the key."""


class CollectorError(MonitorError):
    """One scrape of one target failed.  ``reason`` is a short word, used as a metric label.

    The target chose some of the words: what they say is short, and text that answers can have.
    """

    reason = "other"

    def __str__(self) -> str:
        text = super().__str__().encode("utf-8", "replace").decode()
        return text if len(text) <= MAX_WORDS else f"{text[:MAX_WORDS]}…"


class UnreachableError(CollectorError):
    """No connection to the target, or it broke."""

    reason = "unreachable"


class DeadlineError(CollectorError):
    """The target did not give its whole answer in time."""

    reason = "timeout"


class ReplyError(CollectorError):
    """The target answered, but with an error status or more bytes than allowed."""

    reason = "reply"


class ContentError(CollectorError):
    """The answer is not what this collector reads."""

    reason = "content"


class ElementMissingError(MonitorError):
    """The target answered well, but its answer does not mention this element."""
