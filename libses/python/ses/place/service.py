"""A place that the service gives: asked for, its directory made, kept alive, and released.

The service keeps the claim, for all nodes.  The node's agent watches the process that a place lasts as long
as; where there is none, or it runs in another PID namespace, who asked renews it.
"""

from __future__ import annotations

import os
import secrets
import signal
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from ses_client.client import ServiceClient
from ses_client.errors import (
    NotAllowedError,
    NotFoundError,
    RefusedError,
    SesError,
    UnavailableError,
    UsageError,
)
from ses_client.messages.element_groups import Chosen
from ses_client.messages.message import JSON
from ses_client.messages.places import Place, PlaceGiven
from ses_client.messages.requirements import Requirement

from ses.elsewhere import NO_PROCESS, PATIENCE, close_all_from
from ses.place.claims import FIRST_NAMESPACE, Holder, holder, namespace, of_process
from ses.place.directories import ask_about, held_in
from ses.place.request import check_name, random_name

T = TypeVar("T")
_TRIES, _PAUSE = 5, 1.0  # while the service starts again
_NAMES = 100  # that are tried for a directory to make
_LOOK_EVERY = 1.0


def wanted(
    system: str,
    user: str,
    held: Holder,
    requirements: Sequence[Requirement] = (),
    size: int | None = None,
    streams: int = 1,
    application: str | None = None,
) -> JSON:
    """Return what is asked for: a storage system, needs, bytes, streams, and who holds the place."""
    subject = {"user": user, "application": application, "job": held.job}
    until: JSON = {"lease_seconds": max(1.0, held.until - time.time())}
    if held.pid is not None:
        subject["node"] = socket.gethostname()
        until = {"process": {"pid": held.pid, "started": held.started, "namespace": namespace()}}
    return {
        "subject": {name: value for name, value in subject.items() if value},
        "storage_system": system,
        "requirements": [requirement.as_json() for requirement in requirements],
        "expected_bytes": size,
        "streams": streams,
        **until,
    }


def ask(
    client: ServiceClient, asked: JSON, mkdir: str | None, exclude: Mapping[str, str] | None = None
) -> PlaceGiven:
    """Return a place whose directory is there.

    ``mkdir`` names one to make, whose X at the end become letters; ``exclude`` are elements, and why.  Raises
    SesError where none can be given, or the service does not answer, with the next step.
    """
    check_name(mkdir)
    excluded = dict(exclude or {})
    for _ in range(_NAMES):
        name = None if mkdir is None else random_name(mkdir)
        body = {**asked, "place_id": secrets.token_hex(8), "name": name, "exclude": [*excluded]}
        try:
            given = _again(lambda body=body: client.give_place(body))  # type: ignore[misc]
        except RefusedError as error:
            raise _refused(error, excluded) from None
        except UnavailableError as error:
            raise _unavailable(error) from error
        why, is_taken = _made(given.directory, name)
        if why is None:
            return given
        client.release_place(given.place_id)
        if not is_taken or name == mkdir:
            excluded[given.element] = f"{given.directory}: {why}"
    raise SesError(f"All names like {mkdir} that were tried are taken.", "Give --mkdir more X.")


def again(client: ServiceClient, place: Place, size: int | None, held: Holder) -> PlaceGiven:
    """Return a place on another file system for what is written next, and end the one that it goes on from.

    Needs, streams, name of the directory to make and, unless stated, size are those of the first.
    """
    before = client.place(place.place_id)
    elements = client.elements(Chosen(system=before.storage_system)).elements
    same = {element.file_system for element in elements if element.id == before.element} - {None}
    asked = wanted(
        before.storage_system,
        before.user,
        held,
        [requirement for requirement in before.requirements if requirement.level == "explicit"],
        _stated_size(before) if size is None else size,
        before.streams,
        before.subject.application,
    )
    beside = {
        element.id: f"{element.target}: it is where place {before.place_id} is"
        for element in elements
        if element.id == before.element or element.file_system in same
    }
    given = ask(client, asked, Path(before.directory).name if before.own_directory else None, beside)
    release(client, before)
    return given


def holder_of(place: Place) -> Holder:
    """Return what a place lasts as long as.  Raises UsageError where its process is not of this node."""
    if place.until is None:
        return holder(f"pid:{place.pid}", time.time()).but(job=place.subject.job)
    return of_process(Holder(until=place.until, job=place.subject.job))


def _stated_size(place: Place) -> int | None:
    return int(place.claimed_bytes) if place.claimed_bytes and place.expected_from == "request" else None


def needs_renewal(place: Place) -> bool:
    """Return whether who asked for a place has to renew it, at first at least."""
    in_own_namespace = namespace() != FIRST_NAMESPACE
    return place.renewed_by == "caller" or (
        place.renewed_by == "node" and in_own_namespace and not place.followed
    )


def renew_while_it_lives(
    client: ServiceClient, place: Place, held: Holder, goes_on: Callable[[float], bool]
) -> None:
    """Renew a place until its process ended, an agent watches it, or it is released.

    ``goes_on`` waits for so many seconds and says whether to go on.  A service that does not answer is asked
    again.
    """
    due = 0.0
    while held.lives:
        if time.monotonic() >= due:
            try:
                place = client.renew_place(place.place_id, written_in(place))
            except UnavailableError:
                pass
            except (NotFoundError, RefusedError):
                return
            else:
                due = time.monotonic() + place.renew_within_seconds
                if place.followed:
                    return
        if not goes_on(_LOOK_EVERY):
            return
    with suppress(SesError):
        release(client, place)


def kept(client: ServiceClient, place: PlaceGiven, held: Holder) -> PlaceGiven:
    """Leave a process behind that does so, where it has to; it holds nothing of this one open."""
    try:
        if not needs_renewal(place) or os.fork():
            return place
    except OSError as error:
        release(client, place)
        raise SesError(
            f"No process can begin that renews the place: {error.strerror}.", NO_PROCESS
        ) from error
    try:
        os.setsid()
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        close_all_from(3)
        os.chdir("/")
        renew_while_it_lives(ServiceClient(client.address), place, held, _sleep)
    finally:
        os._exit(0)


def _sleep(seconds: float) -> bool:
    time.sleep(seconds)
    return True


def release(client: ServiceClient, place: Place) -> Place:
    """End a place; what lies in its directory is reported, where that is known."""
    return _again(lambda: client.release_place(place.place_id, written_in(place)))


def written_in(place: Place) -> int | None:
    """Return the bytes in a directory of the place's own; ``None``: not known."""
    return held_in(place.directory) if place.own_directory else None


def named(client: ServiceClient, name: str) -> Place:
    """Return the open place of an id or a directory.  Raises NotFoundError, and UsageError for several."""
    if len(name) == 16 and not name.strip("0123456789abcdef"):
        return client.place(name)
    path = Path(name).absolute()
    places = (
        client.places(path=str(path)) or client.places(path=str(path.resolve())) if name else client.places()
    )
    if not places:
        raise NotFoundError(f"The service knows no open place {name}. List them by ses places.")
    if len(places) > 1:
        ids = ", ".join(entry.place_id for entry in places[:10])
        raise UsageError(f"{name or 'What you have'} was given several times: {ids}. Name one by its id.")
    return places[0]


def _made(path: str, name: str | None) -> tuple[str | None, bool]:
    """Make a directory, if one is to be made; return why there is none, and whether its name is taken."""

    def make(path: str) -> tuple[str | None, bool]:
        try:
            if name is not None:
                Path(path).mkdir(0o700)
            elif not Path(path).is_dir() or not os.access(path, os.W_OK | os.X_OK, effective_ids=True):
                return "it is no directory here that you may write", False
        except OSError as error:
            return f"it cannot be made: {error.strerror}", isinstance(error, FileExistsError)
        return None, False

    late = f"it did not answer within {PATIENCE:g} s", False
    why, is_taken = ask_about([path], make).get(path, late)
    return why, is_taken


def _again(call: Callable[[], T]) -> T:
    """Return what a call returns that changes nothing a second time; a service that starts is waited for."""
    for _ in range(_TRIES - 1):
        try:
            return call()
        except NotAllowedError:
            raise
        except UnavailableError:
            time.sleep(_PAUSE)
    return call()


def _unavailable(error: UnavailableError) -> SesError:
    if isinstance(error, NotAllowedError):
        return error
    step = "Nothing is claimed. Try again, or choose on this machine alone: ses place --among DIR DIR."
    return type(error)(str(error), f"{error.step} {step}".strip())


def _refused(error: RefusedError, excluded: dict[str, str]) -> SesError:
    if error.slug != "nothing-fits":
        return error
    return SesError(
        " ".join([str(error), *(f"{why}." for why in excluded.values())]),
        "Release places that are done (ses places, ses release), or ask for less.",
    )
