"""The selection service over HTTP.

Does not retry a write, follow redirects, or trust the size, speed or shape of an answer: each
call ends within ``deadline_seconds`` and anything unreadable is a ServiceUnavailableError.
Thread-safe; one pool of kept-alive connections per object.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote, urlencode

import urllib3
from ses_client.proven import UnprovenError, base_url, pool

from ses_webface.changes_model import ChangePage, ChangeStates
from ses_webface.errors import (
    ChangedSinceError,
    NotFoundError,
    RefusedError,
    RevisionConflictError,
    SelectionError,
    ServiceUnavailableError,
    TokenRefusedError,
)
from ses_webface.files_model import FileFilter, FilePage, Received, Report
from ses_webface.selection_client import PlacementFilter
from ses_webface.selection_model import (
    Effective,
    Placement,
    Requirement,
    RequirementSet,
    Selection,
    Storage,
    Subject,
)
from ses_webface.vocabulary import Vocabulary
from ses_webface.workloads_model import Expansion

_OF_LISTS = frozenset({"state", "verdict", "path"})
_MAX_BYTES = 32 * 1024 * 1024
_CHUNK = 64 * 1024

T = TypeVar("T")
Observer = Callable[[str, str, float], None]


class HttpSelectionService:
    """ses-service at ``url``, asked with the portal's ``token`` (None: the service trusts us).

    ``observe`` is told (method, outcome, seconds) of every call.  ``ca`` is the authority of an https
    service, if not the system's; the certificate and key of ``shown`` are for one that asks for them.  Raises
    ClearTextError where the token would travel in clear text.
    """

    def __init__(
        self,
        url: str,
        token: str | None,
        *,
        deadline_seconds: float = 4.0,
        observe: Observer | None = None,
        ca: Path | None = None,
        shown: tuple[Path, Path] | None = None,
    ) -> None:
        self._observe = observe
        self._url = base_url(url)
        self._token = token
        self._deadline = deadline_seconds
        self._pool = pool(
            url,
            secret=token is not None,
            ca=ca,
            maxsize=16,
            retries=False,
            timeout=urllib3.Timeout(connect=min(1.0, deadline_seconds), read=deadline_seconds),
            **({} if shown is None else {"cert_file": str(shown[0]), "key_file": str(shown[1])}),
        )

    def requirement_set(self, level: str, name: str, *, acting: str) -> RequirementSet:
        """See SelectionService."""
        return self._ask("GET", _set_path(level, name), acting=acting, reader=RequirementSet.read)

    def requirement_sets(self, user: str, *, acting: str) -> tuple[RequirementSet, ...]:
        """See SelectionService."""
        return self._ask(
            "GET",
            _with_query("/v1/requirements", {"user": user}),
            acting=acting,
            reader=lambda data: tuple(RequirementSet.read(item) for item in data["sets"]),
        )

    def replace_requirements(
        self,
        level: str,
        name: str,
        requirements: tuple[Requirement, ...],
        *,
        profile: str | None = None,
        revision: int,
        acting: str,
    ) -> RequirementSet:
        """See SelectionService."""
        return self._ask(
            "PUT",
            _set_path(level, name),
            acting=acting,
            body={
                "requirements": [requirement.write() for requirement in requirements],
                **({"profile": profile} if profile else {}),
            },
            headers={"If-Match": f'"{revision}"'},
            reader=RequirementSet.read,
            writes=True,
        )

    def vocabulary(self, *, acting: str) -> Vocabulary:
        """See SelectionService."""
        return self._ask("GET", "/v1/vocabulary", acting=acting, reader=Vocabulary.read)

    def expand_sentence(self, sentence: str, values: Mapping[str, str], *, acting: str) -> Expansion:
        """See SelectionService."""
        body = {"sentence": sentence, "values": dict(values)}
        return self._ask("POST", "/v1/workloads/expansions", acting=acting, body=body, reader=Expansion.read)

    def changes(self, *, before: int | None = None, subject: str | None = None, acting: str) -> ChangePage:
        """See SelectionService."""
        path = _with_query("/v1/changes", {"before": before, "subject": subject})
        return self._ask("GET", path, acting=acting, reader=ChangePage.read)

    def change(self, number: int, *, after: str = "", acting: str) -> ChangeStates:
        """See SelectionService."""
        path = _with_query(f"/v1/changes/{number}", {"after": after or None})
        return self._ask("GET", path, acting=acting, reader=ChangeStates.read)

    def undo(self, number: int, *, acting: str) -> int | None:
        """See SelectionService."""
        return self._ask(
            "POST",
            f"/v1/changes/{number}/undo",
            acting=acting,
            body={"force": False},
            reader=lambda data: None if data["change"] is None else int(data["change"]),
            writes=True,
        )

    def effective(self, subject: Subject, *, acting: str) -> Effective:
        """See SelectionService."""
        path = _with_query("/v1/requirements/effective", subject.write())
        return self._ask("GET", path, acting=acting, reader=Effective.read)

    def select(self, subject: Subject, requirements: tuple[Requirement, ...], *, acting: str) -> Selection:
        """See SelectionService."""
        body = {
            "subject": subject.write(),
            "requirements": [requirement.write() for requirement in requirements],
            "limit": 10,
        }
        return self._ask("POST", "/v1/selections", acting=acting, body=body, reader=Selection.read)

    def storage(self, *, acting: str) -> Storage:
        """See SelectionService."""
        return self._ask("GET", "/v1/elements", acting=acting, reader=Storage.read)

    def placements(self, wanted: PlacementFilter, *, acting: str) -> tuple[Placement, ...]:
        """See SelectionService."""
        query = {
            "user": wanted.user,
            "path": wanted.path,
            "element": wanted.element,
            "state": wanted.state,
            "limit": wanted.limit,
        }
        return self._ask(
            "GET",
            _with_query("/v1/placements", query),
            acting=acting,
            reader=lambda data: tuple(Placement.read(item) for item in data["placements"]),
        )

    def placement(self, placement_id: str, *, acting: str) -> Placement:
        """See SelectionService."""
        path = f"/v1/placements/{quote(placement_id, safe='')}"
        return self._ask("GET", path, acting=acting, reader=Placement.read)

    def received(self, placement_id: str, *, acting: str) -> Received | None:
        """See SelectionService."""
        path = f"/v1/files/{quote(placement_id, safe='')}"
        try:
            return self._ask("GET", path, acting=acting, reader=Received.read)
        except NotFoundError:
            return None

    def files(self, wanted: FileFilter, *, after: str | None, limit: int, acting: str) -> FilePage:
        """See SelectionService."""
        path = _with_query("/v1/files", {**asdict(wanted), "after": after, "limit": limit})
        return self._ask("GET", path, acting=acting, reader=FilePage.read)

    def report(self, wanted: FileFilter, *, acting: str) -> Report:
        """See SelectionService."""
        query = {name: value for name, value in asdict(wanted).items() if name not in _OF_LISTS}
        return self._ask("GET", _with_query("/v1/report", query), acting=acting, reader=Report.read)

    def tell_accounts(self, homes: Mapping[str, str]) -> None:
        """See SelectionService."""
        accounts = [{"user": user, "vo": vo} for user, vo in sorted(homes.items())]
        self._ask(
            "PUT",
            "/v1/members/accounts",
            acting=None,
            body={"accounts": accounts},
            reader=lambda _data: None,
        )

    def check(self) -> None:
        """See SelectionService."""
        self._ask("GET", "/healthz", acting=None, reader=lambda _data: None)

    def _ask(
        self,
        method: str,
        path: str,
        *,
        acting: str | None,
        reader: Callable[[Any], T],
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        writes: bool = False,
    ) -> T:
        sent = {"Accept": "application/json, application/problem+json", **(headers or {})}
        if self._token is not None:
            sent["Authorization"] = f"Bearer {self._token}"
        if acting is not None:
            sent["X-Acting-User"] = acting
        payload = None
        if body is not None:
            sent["Content-Type"] = "application/json"
            payload = json.dumps(body, allow_nan=False).encode()
        outcome = "unavailable"
        began = time.monotonic()
        try:
            status, raw = self._exchange(method, path, sent, payload, writes=writes)
            outcome = str(status)
            if status >= 400:
                raise _error(status, _decoded(raw, {}))
            try:
                return reader(_decoded(raw, None))
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                outcome = "unreadable"
                raise ServiceUnavailableError(
                    "The selection service gave an answer this portal cannot read "
                    f"({type(error).__name__}: {error}). Its version may not fit the portal's."
                ) from error
        finally:
            if self._observe:
                self._observe(method, outcome, time.monotonic() - began)

    def _exchange(
        self, method: str, path: str, headers: Mapping[str, str], payload: bytes | None, *, writes: bool
    ) -> tuple[int, bytes]:
        end = time.monotonic() + self._deadline
        try:
            try:
                return self._once(method, path, headers, payload, end)
            except urllib3.exceptions.ProtocolError:
                # A kept-alive connection the other side closed meanwhile.  A write may have been done.
                if writes:
                    raise
                return self._once(method, path, headers, payload, end)
        except UnprovenError as error:
            why = str(error).partition(": ")[2]
            raise ServiceUnavailableError(
                f"What answers as the selection service is not trusted: {why}."
            ) from error
        except urllib3.exceptions.SSLError as error:
            raise ServiceUnavailableError(
                f"What answers as the selection service is not proven by its certificate: {error}."
            ) from error
        except urllib3.exceptions.NewConnectionError as error:  # a TimeoutError to urllib3
            raise ServiceUnavailableError("The selection service cannot be reached.") from error
        except urllib3.exceptions.TimeoutError as error:
            raise ServiceUnavailableError(
                f"The selection service did not answer within {self._deadline:g} s."
            ) from error
        except urllib3.exceptions.HTTPError as error:
            raise ServiceUnavailableError("The selection service cannot be reached.") from error

    def _once(
        self, method: str, path: str, headers: Mapping[str, str], payload: bytes | None, end: float
    ) -> tuple[int, bytes]:
        response = self._pool.request(
            method, self._url + path, body=payload, headers=headers, preload_content=False, redirect=False
        )
        try:
            parts: list[bytes] = []
            size = 0
            while chunk := response.read1(_CHUNK):
                parts.append(chunk)
                size += len(chunk)
                if size > _MAX_BYTES:
                    raise ServiceUnavailableError("The selection service's answer is too large to be one.")
                if time.monotonic() > end:
                    raise ServiceUnavailableError(
                        f"The selection service did not finish its answer within {self._deadline:g} s."
                    )
        except BaseException:
            response.close()
            raise
        response.release_conn()
        return response.status, b"".join(parts)


def _with_query(path: str, query: Mapping[str, object]) -> str:
    given = {key: value for key, value in query.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def _set_path(level: str, name: str) -> str:
    return f"/v1/requirements/{quote(level, safe='')}/{quote(name, safe='')}"


def _decoded(raw: bytes, otherwise: Any) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return otherwise


def _error(status: int, problem: Any) -> SelectionError:
    said = problem if isinstance(problem, dict) else {}
    detail = str(said.get("detail") or said.get("title") or f"HTTP status {status}")
    if status == 412:
        return RevisionConflictError(detail)
    if status == 404:
        return NotFoundError(detail)
    if status in (401, 403):
        return TokenRefusedError(f"The selection service does not let the portal do this: {detail}")
    if status == 409 and str(said.get("type", "")).endswith((":changed-since", ":changed-meanwhile")):
        return ChangedSinceError(detail)
    if status in (400, 409, 422):
        errors = said.get("errors")
        return RefusedError(
            detail,
            tuple(
                (str(item.get("location", "")), str(item.get("message", "")))
                for item in (errors if isinstance(errors, list) else ())
                if isinstance(item, dict)
            ),
        )
    return ServiceUnavailableError(f"The selection service could not do this now: {detail}")
