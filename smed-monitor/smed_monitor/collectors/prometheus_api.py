"""What Prometheus answers to queries, by its HTTP API.  Pure."""

import json
from typing import Any
from urllib.parse import urlencode

from smed_monitor.core.errors import ContentError

Series = list[tuple[float, float]]
"""(epoch seconds, value), oldest first."""


def vector(body: bytes) -> list[tuple[dict[str, str], float]]:
    """An instant query's answer as (labels, value).  Raises ContentError."""
    try:
        return [(each["metric"], float(each["value"][1])) for each in _result(body)]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise ContentError(f"is not Prometheus's answer to a query: {error!r}") from error


def matrix(body: bytes) -> list[Series]:
    """A range query's answer, one series after the other.  Raises ContentError."""
    try:
        return [[(float(at), float(value)) for at, value in each["values"]] for each in _result(body)]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ContentError(f"is not Prometheus's answer to a range query: {error!r}") from error


def range_address(base: str, query: str, since: float, until: float, step: float) -> str:
    """Where to ask for ``query`` at ``since``, ``since + step``, ... ``until`` (epoch seconds)."""
    asked = urlencode({"query": query, "start": since, "end": until, "step": step})
    return f"{base.rstrip('/')}/api/v1/query_range?{asked}"


def _result(body: bytes) -> list[Any]:
    answer: Any = json.loads(body)
    if answer["status"] != "success":
        raise ContentError(f"refused a query: {answer.get('error', 'without saying why')}")
    series: list[Any] = answer["data"]["result"]
    return series
