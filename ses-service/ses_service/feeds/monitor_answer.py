"""One answer of the monitor: a connection for each question, which ends within a time."""

from __future__ import annotations

import urllib3

from ses_service.feeds.monitor_reader import MonitorError, words_of
from ses_service.security.trust import Trust


def answer_of(url: str, trust: Trust, seconds: float, most: int) -> bytes | None:
    """Return the body that the monitor answers, of at most so many bytes; ``None``: it has no such thing.

    Raises MonitorError.
    """
    pool = trust.pool()
    try:
        answer = pool.request(
            "GET", url, timeout=seconds, preload_content=False, redirect=False, retries=False
        )
        try:
            body = answer.read(most + 1)
        finally:
            answer.close()
    except urllib3.exceptions.HTTPError as error:
        raise MonitorError(f"the monitor does not answer: {words_of(error)}") from None
    finally:
        pool.clear()
    if answer.status == 404:
        return None
    if answer.status != 200:
        raise MonitorError(f"the monitor answered with status {answer.status}")
    if len(body) > most:
        raise MonitorError("the monitor's answer is too large to be one")
    return bytes(body)
