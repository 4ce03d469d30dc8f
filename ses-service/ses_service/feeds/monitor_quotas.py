"""Asks the monitor for quotas."""

from typing import Any, Literal, Required

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict

from ses_service.feeds.monitor_answer import MonitorError, answer_of
from ses_service.model.quotas import Quota, QuotaSource
from ses_service.security.trust import Trust

_SECONDS = 5.0
_MAX_ANSWER = 64 * 2**20


class _Quota(TypedDict, total=False):
    kind: Required[Literal["user", "group", "project"]]
    name: Required[str]
    used_bytes: Required[float]
    limit_bytes: Required[float]
    sampled_at: Required[float]


class _System(TypedDict, total=False):
    system: Required[str]
    target: str
    error: str
    quotas: Required[list[Any]]


class _Answer(TypedDict, total=False):
    systems: Required[list[_System]]


_ANSWER = TypeAdapter(_Answer)
_QUOTA = TypeAdapter(_Quota)


class MonitorQuotas:
    """The quotas that one monitor sees.  Thread-safe."""

    def __init__(self, url: str | None, trust: Trust) -> None:
        self._url = None if url is None else url.rstrip("/") + "/v1/quotas"
        self._trust = trust

    def read(self) -> tuple[list[Quota], list[QuotaSource]]:
        """Return the quotas, and where they are from; none where the monitor knows nothing of quotas.

        Raises MonitorError.
        """
        if self._url is None:
            return [], []
        with self._trust.pool() as pool:
            answer = answer_of(pool, self._url, _MAX_ANSWER, _SECONDS)
        return ([], []) if answer is None else _read(answer.body)


def _read(body: bytes) -> tuple[list[Quota], list[QuotaSource]]:
    try:
        decoded = _ANSWER.validate_json(body)
    except ValidationError as error:
        raise MonitorError(f"the monitor's answer cannot be read: {error.errors()[0]['msg']}") from None
    quotas = [
        Quota(
            each["system"],
            quota["kind"],
            quota["name"],
            quota["used_bytes"],
            quota["limit_bytes"],
            quota["sampled_at"],
        )
        for each in decoded["systems"]
        for quota in map(_quota, each["quotas"])
        if quota is not None and quota["limit_bytes"] > 0
    ]
    sources = [
        QuotaSource(each["system"], each.get("target", ""), each.get("error", ""))
        for each in decoded["systems"]
    ]
    return quotas, sources


def _quota(entry: Any) -> _Quota | None:
    """Return a quota; ``None`` where it is none, which says nothing of those of others."""
    try:
        return _QUOTA.validate_python(entry)
    except ValidationError:
        return None
