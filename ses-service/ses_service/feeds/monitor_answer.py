"""One answer of the monitor, within a time and a size."""

import time
from typing import NamedTuple

import urllib3

_CHUNK = 2**18


class MonitorError(Exception):
    """The monitor did not answer, or its answer cannot be read."""


class MonitorAnswer(NamedTuple):
    """The body of an answer, and the version the monitor says it has; empty: it says none."""

    body: bytes
    version: str


def answer_of(
    pool: urllib3.PoolManager, url: str, most: int, patience: float, wait: float = 0.0
) -> MonitorAnswer | None:
    """Return what the monitor answers, of at most ``most`` bytes; ``None``: it has no such thing.

    Takes at most the ``wait`` the monitor is asked for and the ``patience`` on top, in seconds.  Raises
    MonitorError.
    """
    limit = wait + patience
    deadline = time.monotonic() + limit
    timeout = urllib3.Timeout(connect=patience, read=limit)
    try:
        response = pool.request("GET", url, timeout=timeout, preload_content=False, redirect=False)
    except urllib3.exceptions.HTTPError as error:
        raise MonitorError(f"the monitor does not answer: {_words(error)}") from None
    try:
        if response.status == 404:
            return None
        if response.status != 200:
            raise MonitorError(f"the monitor answered with status {response.status}")
        body = bytearray()
        while chunk := response.read1(_CHUNK):
            body += chunk
            if len(body) > most:
                raise MonitorError("the monitor's answer is too large to be one")
            # The read time-out begins again with every byte; only a deadline ends an answer that trickles.
            if time.monotonic() > deadline:
                raise MonitorError(f"the monitor's answer took more than {limit:g} s")
        return MonitorAnswer(bytes(body), response.headers.get("Ses-Version", "")[:40])
    except urllib3.exceptions.HTTPError as error:
        raise MonitorError(f"the monitor's answer broke off: {_words(error)}") from None
    finally:
        response.close()


def _words(error: urllib3.exceptions.HTTPError) -> str:
    causes = (error.__cause__, *error.args)
    cause = next((cause for cause in causes if isinstance(cause, OSError) and cause.strerror), None)
    if isinstance(error, urllib3.exceptions.NewConnectionError) and cause is not None:
        return str(cause.strerror).lower()
    if isinstance(error, urllib3.exceptions.TimeoutError):
        return "no answer in time"
    if isinstance(error, urllib3.exceptions.ProtocolError):
        return "the connection was closed" if cause is None else str(cause.strerror).lower()
    return str(error).partition(": ")[2] or str(error)
