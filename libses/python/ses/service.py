"""The service's HTTP interface, as its contract ``ses-service/openapi.yaml`` says.

Every call has a time-out and is made once: a person is waiting and can repeat it.  Faults are
SesError with one sentence that names cause and next step.  Does not cache, and knows nothing of
how things are shown.  Not safe for several threads.
"""

from __future__ import annotations

import json
import math
import time
from importlib.metadata import version
from typing import Any
from urllib.parse import quote

import urllib3
from ses_client.proven import ClearTextError, UnprovenError, base_url, pool

from ses.errors import (
    EXIT_NOT_FOUND,
    EXIT_USAGE,
    BadAnswerError,
    NotAllowedError,
    NotFoundError,
    SesError,
    UnreachableError,
)
from ses.schemes import other_scheme
from ses.settings import ServiceAddress, read_token

JSON = dict[str, Any]

VERSION = version("qstorman-ses")

_USED_SHARE = 0.75  # of the life of a session; then the next is opened

_LONG = 600.0
"""Seconds: checking a site of 10,000 elements takes minutes on a busy machine."""


class RefusedError(SesError):
    """The service said no; ``slug`` is the last part of the problem's type, ``faults`` what it lists."""

    def __init__(self, message: str, slug: str, status: int, faults: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.faults = faults
        self.slug = slug
        self.status = status
        if status == 422 or status == 400:
            self.exit_code = EXIT_USAGE
        elif status == 404 or slug == "no-element":
            self.exit_code = EXIT_NOT_FOUND


class ServiceClient:
    """One service.  Answers are decoded JSON; :mod:`ses.answers` turns them into objects."""

    def __init__(self, address: ServiceAddress, timeout_seconds: float = 10.0) -> None:
        self.url = address.url
        self.token_file = address.token_file
        self.munge = address.munge
        shown = {"cert_file": address.certificate, "key_file": address.key}
        try:
            self._pool = pool(
                address.url,
                secret=address.token_file is not None or address.munge is not None,
                ca=address.ca,
                timeout=urllib3.Timeout(connect=min(3.0, timeout_seconds), read=timeout_seconds),
                retries=False,
                **{name: str(path) for name, path in shown.items() if path is not None},
            )
        except ClearTextError as error:
            raise NotAllowedError(str(error)) from None
        self._base = base_url(address.url)
        self._headers: dict[str, str] | None = None
        self._renew_at = math.inf  # of the monotonic clock

    def elements(self) -> JSON:
        """Return all elements with what a stream that starts now would get from each."""
        return self._json("GET", "/v1/elements")

    def drain(self, element: str, how: JSON) -> JSON:
        """Let an element take no further files, or say what that would change."""
        return self._change_element(f"{_element_path(element)}/drain", how)

    def undrain(self, element: str, how: JSON) -> JSON:
        """Let a drained element take files again, or say what that would change."""
        return self._change_element(f"{_element_path(element)}/undrain", how)

    def add_element(self, facts: JSON) -> JSON:
        """Add an element to a storage system, or say what that would change."""
        return self._change_element("/v1/elements", facts)

    def set_element(self, element: str, facts: JSON) -> JSON:
        """Change what is stated of an element, or say what that would change."""
        return self._change_element(_element_path(element), facts, "PATCH")

    def remove_element(self, element: str, how: JSON) -> JSON:
        """Remove an element from the site, or say what that would change."""
        return self._change_element(f"{_element_path(element)}/remove", how)

    def _change_element(self, path: str, body: JSON, method: str = "POST") -> JSON:
        return self._json(method, path, body=body, patience_seconds=_LONG)

    def storage_systems(self) -> JSON:
        """Return the mounted storage systems the site describes."""
        return self._json("GET", "/v1/storage-systems")

    def readiness(self) -> tuple[bool, list[Any]]:
        """Return whether the service says it is ready, and its own checks."""
        data = self._json("GET", "/readyz", accept=(200, 503), authorised=False)
        return bool(data.get("ready")), list(data.get("checks") or [])

    def select(self, question: JSON) -> JSON:
        """Return the ranking for a question; books nothing."""
        return self._json("POST", "/v1/selections", body=question)

    def select_nodes(self, question: JSON) -> JSON:
        """Return the nodes for a task, ranked; books nothing."""
        return self._json("POST", "/v1/nodes/selections", body=question)

    def node_classes(self) -> JSON:
        """Return the classes of nodes, with how many of them are heard of."""
        return self._json("GET", "/v1/node-classes")

    def placements(self, **filters: str | int) -> JSON:
        """Return placement records, newest first, without their explanations."""
        return self._json("GET", "/v1/placements", fields={k: str(v) for k, v in filters.items()})

    def placement(self, placement_id: str) -> JSON:
        """Return one placement record with its explanation."""
        return self._json("GET", f"/v1/placements/{quote(placement_id, safe='')}")

    def files(self, asked: dict[str, str]) -> JSON:
        """Return a page of files with what each received, the latest first."""
        return self._json("GET", "/v1/files", fields=asked)

    def file(self, placement_id: str) -> JSON:
        """Return what one file received, kind by kind and over time."""
        return self._json("GET", f"/v1/files/{quote(placement_id, safe='')}")

    def report(self, asked: dict[str, str]) -> JSON:
        """Return how often what was required was met, in sums."""
        return self._json("GET", "/v1/report", fields=asked)

    def requirement_sets(self, user: str | None = None) -> JSON:
        """Return the requirement sets that can apply to a user, or all of them."""
        return self._json("GET", "/v1/requirements", fields={"user": user} if user else None)

    def effective_requirements(self, user: str, application: str | None, vo: str | None) -> JSON:
        """Return what holds for a subject, each requirement with the level it came from."""
        fields = {"user": user, "application": application, "vo": vo}
        return self._json(
            "GET", "/v1/requirements/effective", fields={k: v for k, v in fields.items() if v is not None}
        )

    def requirements(self, level: str, name: str) -> JSON:
        """Return one requirement set; one that was never set is empty with revision 0."""
        return self._json("GET", _requirement_path(level, name))

    def set_requirements(
        self,
        level: str,
        name: str,
        requirements: list[JSON],
        revision: int,
        profile: str | None = None,
        about: JSON | None = None,
    ) -> JSON:
        """Replace one requirement set, its profile included, if it still has the revision given.

        ``about``: of a set at profile level, its definition and what was measured.
        """
        return self._json(
            "PUT",
            _requirement_path(level, name),
            body={"requirements": requirements, **({"profile": profile} if profile else {}), **(about or {})},
            headers={"If-Match": f'"{revision}"'},
        )

    def vocabulary(self) -> JSON:
        """Return the kinds of requirement and the profiles the service knows."""
        return self._json("GET", "/v1/vocabulary")

    def expand_workload(self, sentence: str, values: dict[str, str]) -> JSON:
        """Return what a sentence about a program requires, with the arithmetic."""
        return self._json("POST", "/v1/workloads/expansions", body={"sentence": sentence, "values": values})

    def knowledge(self, part: str, after: str) -> JSON:
        """Return a page of the knowledge base: of the site or of the requirements, after a subject."""
        path = f"/v1/knowledge/{quote(part, safe='')}"
        return self._json("GET", path, fields={"after": after}, patience_seconds=_LONG)

    def import_knowledge(self, what: JSON) -> JSON:
        """Change the knowledge base by a text, or say what would be changed."""
        return self._json("POST", "/v1/knowledge/imports", body=what, patience_seconds=_LONG)

    def changes(self, before: int | None, subject: str | None) -> JSON:
        """Return a page of changes of the knowledge base, the latest first."""
        fields = {"before": None if before is None else str(before), "subject": subject}
        return self._json("GET", "/v1/changes", fields={k: v for k, v in fields.items() if v is not None})

    def change(self, number: int, after: str) -> JSON:
        """Return a page of what one change did, after a subject."""
        return self._json("GET", f"/v1/changes/{number}", fields={"after": after})

    def undo(self, number: int, how: JSON) -> JSON:
        """Undo a change, or say what that would change."""
        return self._json("POST", f"/v1/changes/{number}/undo", body=how, patience_seconds=_LONG)

    def _json(
        self,
        method: str,
        path: str,
        *,
        body: JSON | None = None,
        fields: dict[str, str] | None = None,
        headers: dict[str, str] | None = None,
        accept: tuple[int, ...] = (200, 201),
        authorised: bool = True,
        patience_seconds: float | None = None,
    ) -> JSON:
        sent = {"Accept": "application/json", "Ses-Version": VERSION, **(headers or {})}
        if authorised:
            sent |= self._authorisation()
        if body is not None:
            sent["Content-Type"] = "application/json"
        try:
            response = self._pool.request(
                method,
                self._base + path,
                fields=fields,
                body=None if body is None else json.dumps(body).encode(),
                headers=sent,
                redirect=False,
                **({} if patience_seconds is None else {"timeout": _patient(patience_seconds)}),
            )
        except UnprovenError as error:
            why = str(error).partition(": ")[2]
            raise NotAllowedError(f"What answers at {self.url} is not trusted: {why}.") from error
        except urllib3.exceptions.SSLError as error:
            self._say_other_scheme(error)
            raise NotAllowedError(
                f"What answers at {self.url} is not proven to be the service: {error}. Name the authority "
                "that signed its certificate with --service-ca or SES_SERVICE_CA."
            ) from error
        except (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ProtocolError) as error:
            if isinstance(error, urllib3.exceptions.ProtocolError):
                self._say_other_scheme(error)
            raise UnreachableError(
                f"Nothing answers at {self.url} ({_cause(error)}). Start ses-service, or name "
                f"another with --url or SES_SERVICE_URL."
            ) from error
        except urllib3.exceptions.HTTPError as error:
            if self.url.startswith("https:"):  # what speaks http may wait for the rest of a request
                self._say_other_scheme(error)
            raise UnreachableError(
                f"The selection service at {self.url} gave no answer in time ({_cause(error)}). Look "
                f"at its log, or name another with --url."
            ) from error
        if response.status not in accept:
            raise _refusal(response.status, response.data, self.url + path, self.token_file is not None)
        return _decoded(response.data, self.url)

    def _say_other_scheme(self, error: Exception) -> None:
        """Raise UnreachableError if the service speaks the other of http and https."""
        other = other_scheme(self.url)
        if other is not None:
            spoken, named = other.partition(":")[0], self.url.partition(":")[0]
            more = " (tokens are sent by http on this machine only)" if spoken == "http" else ""
            raise UnreachableError(
                f"What answers at {self.url} speaks {spoken}, not {named}. Name it {other} with --url or "
                f"SES_SERVICE_URL{more}."
            ) from error

    def open_session(self) -> None:
        """Exchange a credential of MUNGE for a token, and show that from now on.

        Raises NotAllowedError when munged gives none or the service does not take it.
        """
        assert self.munge is not None
        body = {"credential": self.munge.credential()}
        found = self._json("POST", "/v1/sessions", body=body, authorised=False)
        try:
            token, seconds = str(found["token"]), float(found["seconds"])
        except (KeyError, TypeError, ValueError):
            raise BadAnswerError(f"What {self.url} answers to a MUNGE credential is no session.") from None
        self._headers = {"Authorization": f"Bearer {token}"}
        self._renew_at = time.monotonic() + seconds * _USED_SHARE

    def _authorisation(self) -> dict[str, str]:
        if self.munge is not None and (self._headers is None or time.monotonic() >= self._renew_at):
            self.open_session()
        if self._headers is None:
            token = None if self.token_file is None else read_token(self.token_file)
            self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return self._headers


def _patient(seconds: float) -> urllib3.Timeout:
    return urllib3.Timeout(connect=3.0, read=seconds)


def _requirement_path(level: str, name: str) -> str:
    return f"/v1/requirements/{quote(level, safe='')}/{quote(name, safe='')}"


def _element_path(element: str) -> str:
    system, _, name = element.partition("/")
    return f"/v1/elements/{quote(system, safe='')}/{quote(name, safe='')}"


def _decoded(data: bytes, url: str) -> JSON:
    try:
        decoded = json.loads(data)
    except ValueError:
        decoded = None
    if not isinstance(decoded, dict):
        raise BadAnswerError(
            f"What answers at {url} is not a selection service: its answer is not a JSON object. "
            "Name the right address with --url or SES_SERVICE_URL."
        )
    return decoded


def _cause(error: Exception) -> str:
    text = str(error)
    for known in ("Connection refused", "Name or service not known", "No route to host", "reset by peer"):
        if known in text:
            return known.lower()
    return type(error).__name__


def _place(location: str) -> str:
    """Return where a request is wrong as whoever typed it would say: ``requirement 1, unit``."""
    named: list[str] = []
    if location.partition(".")[0] not in ("json", "query", "path"):
        return location
    for part in location.split("."):
        if part.isdecimal() and named:
            named[-1] = f"{named[-1].removesuffix('s')} {int(part) + 1}"
        elif named or part not in ("json", "query", "path", "body"):
            named.append(part)
    return ", ".join(named)


def _refusal(status: int, data: bytes, url: str, had_token: bool) -> SesError:
    try:
        problem = json.loads(data)
    except ValueError:
        problem = None
    if not isinstance(problem, dict):
        problem = {}
    slug = str(problem.get("type") or "").rpartition(":")[2]
    detail = str(problem.get("detail") or problem.get("title") or f"HTTP status {status}").rstrip(".")
    if status == 401:
        step = (
            "The service does not know this token: ask its administrator for another"
            if had_token
            else "Name your token with --token-file or SES_TOKEN_FILE, or put it in ~/.config/ses/token"
        )
        return NotAllowedError(f"{detail}. {step}.")
    if status == 403:
        return NotAllowedError(f"{detail}. Use a token that may do this.")
    if status == 404 and not slug:
        return NotFoundError(f"{url} does not exist. Is this address a selection service of this version?")
    if status == 412:
        return RefusedError(
            "Somebody else changed these requirements at the same moment. Look at them and try again.",
            slug,
            status,
        )
    faults = [
        f"{where}: {one.get('message')}"
        if (where := _place(str(one.get("location"))))
        else str(one.get("message"))
        for one in problem.get("errors") or ()
        if isinstance(one, dict)
    ]
    told = [detail, *faults] if not faults or slug != "invalid-request" else faults
    message = "; ".join(one.rstrip(".") for one in dict.fromkeys(told)) + "."
    if status >= 500 and not slug:
        return BadAnswerError(f"The selection service failed: {message} Its log says more.")
    return RefusedError(message, slug, status, tuple(dict.fromkeys(faults)))
