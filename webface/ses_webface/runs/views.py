"""The page of runs: what one started, how far each is, and a form for another.

The portal runs nothing: a run waits at the service until ``ses serve-runs`` of its owner takes it.
"""

import secrets
from collections.abc import Mapping, Sequence

import structlog
from flask import Blueprint, flash, redirect, render_template, request, url_for
from ses_client.errors import NotAllowedError, NotFoundError, RefusedError, UnavailableError
from ses_client.messages.runs import NearRun, NearRuns, RunCount

from ses_webface.portal import Page, person, portal, service
from ses_webface.runs.forms import OPTIONS, faults_of, run_of
from ses_webface.storage.forms import FaultsError
from ses_webface.web_security import take_draft

blueprint = Blueprint("runs", __name__, url_prefix="/runs")
log = structlog.get_logger(__name__)


@blueprint.get("")
def overview() -> Page:
    """Show one's own runs, and of others how many; only the part that changes when the page asks for it."""
    if request.headers.get("HX-Request"):
        return render_template("runs/parts.html", near_runs=_runs(), seconds=seconds)
    kept = take_draft(request.path)
    unsaved = {} if kept is None else {"": "You were signed out, and nothing was started yet."}
    return _page(dict(kept or ()), unsaved)


@blueprint.post("")
def start() -> Page:
    """Start a run: it waits for who serves this person's runs."""
    fields = request.form.to_dict()
    try:
        run = run_of(fields)
        service().start_run(run)
    except FaultsError as error:
        return _page(fields, error.faults), 422
    except UnavailableError as error:
        status = 403 if isinstance(error, NotAllowedError) else 503
        return _page(fields, {"": f"Not started: {error}"}), status
    except RefusedError as error:
        return _page(fields, faults_of(error)), error.status
    log.info("run started", account=person().name, run=run["run_id"])
    flash("Started. It runs as soon as your ses serve-runs takes it.")
    return redirect(url_for("runs.overview"), 303)


@blueprint.post("/<run_id>/stop")
def stop(run_id: str) -> Page:
    """Stop a run of one's own."""
    try:
        known = service().stop_run(run_id)
    except (NotFoundError, RefusedError):
        flash("There is no such run any more.", "error")
    else:
        log.info("run stopped", account=person().name, run=run_id)
        flash("It is stopped." if known.state == "stopped" else "It is being stopped.")
    return redirect(url_for("runs.overview"), 303)


def seconds(run: NearRun) -> float | None:
    """Return how long a run took, or has taken."""
    if run.began_at is None:
        return None
    until = run.ended_at or (run.reported_at if run.state == "lost" else portal().clock())
    return max(0.0, (until or 0.0) - run.began_at)


def _runs() -> NearRuns | None:
    """Return the person's runs; ``None`` where the service takes none from this portal."""
    try:
        return service().runs()
    except NotAllowedError:
        return None


def _page(fields: Mapping[str, str], faults: Mapping[str, str]) -> str:
    near_runs: NearRuns | None = None
    counts: Sequence[RunCount] = ()
    away = False
    try:
        near_runs = _runs()
        if person().is_admin and near_runs is not None:
            counts = service().run_counts().users
    except UnavailableError:
        if not faults:
            raise
        away = True
    return render_template(
        "runs/overview.html",
        near_runs=near_runs,
        counts=[count for count in counts if count.user != person().name],
        fields={**fields, "run_id": fields.get("run_id") or secrets.token_hex(8)},
        faults=faults,
        options=OPTIONS,
        has_options=any(fields.get(name) for name in ("force", *(name for name, _, _ in OPTIONS))),
        seconds=seconds,
        away=away,
    )
