"""Pages of the history: the list, one change, and the question before it is undone."""

import structlog
from flask import Blueprint, abort, flash, redirect, render_template, request, url_for
from ses_client.errors import ConflictError, RefusedError, SesError
from ses_client.messages.knowledge import subject_of_set
from ses_client.messages.requirements import LEVELS
from ses_client.names import is_set_name

from ses_webface.history import services
from ses_webface.portal import Page, person, service
from ses_webface.requirements.services import may_read

blueprint = Blueprint("history", __name__, url_prefix="/history")
log = structlog.get_logger(__name__)

_BEYOND = 2**53  # the service takes no larger number


@blueprint.get("")
def overview() -> Page:
    """List changes, the latest first; of one requirement set when it is named."""
    level, _, name = (request.args.get("set") or "").partition("/")
    if level and (level not in LEVELS or not is_set_name(level, name)):
        abort(404)
    if level and not may_read(service(), person(), level, name):
        abort(403)
    before = request.args.get("before", type=int)
    listing = services.listing(
        service(),
        person(),
        before=before if before and 0 < before < _BEYOND else None,
        subject=subject_of_set(level, name) if level else None,
    )
    return render_template(
        "history/overview.html",
        listing=listing,
        of=(level, name) if level else None,
    )


@blueprint.get("/<int:number>")
def change(number: int) -> Page:
    """Show what one change did."""
    details = _details(number, (request.args.get("after") or "")[:2048])
    return render_template("history/change.html", details=details, states=details.states)


@blueprint.get("/<int:number>/undo")
def confirm(number: int) -> Page:
    """Ask before a change is undone, showing what that would do."""
    return _confirm_page(number)


@blueprint.post("/<int:number>/undo")
def undo(number: int) -> Page:
    """Undo a change; what was changed meanwhile is never lost."""
    _require_number(number)
    who = person()
    try:
        undoing = services.undo(service(), who, number)
    except PermissionError:
        abort(403)
    except ConflictError as error:
        log.info("not undone", account=who.name, change=number, problem=str(error))
        return _confirm_page(number, changed_meanwhile=True, status=409)
    except RefusedError as error:
        detail = "; ".join([str(error), *(f"{place}: {message}" for place, message in error.problems)])
        return _confirm_page(number, problem=f"Not undone: {detail}", status=422)
    except SesError as error:
        log.warning("not undone", account=who.name, change=number, problem=str(error))
        return render_template("history/not_undone.html", number=number, problem=str(error)), 503
    if undoing is None:
        flash(f"Nothing was left to undo: things are as they were before change {number}.")
        return redirect(url_for("history.change", number=number), 303)
    log.info("undone", account=who.name, change=number, by=undoing)
    flash(f"Change {number} is undone, by this one.")
    return redirect(url_for("history.change", number=undoing), 303)


def _require_number(number: int) -> None:
    if number >= _BEYOND:
        abort(404)


def _details(number: int, after: str = "") -> services.Details:
    _require_number(number)
    return services.details(service(), person(), number, after=after)


def _confirm_page(
    number: int, *, problem: str | None = None, changed_meanwhile: bool = False, status: int = 200
) -> Page:
    details = _details(number)
    if not details.may_undo:
        abort(403)
    page = render_template(
        "history/undo.html",
        details=details,
        states=services.reversed_states(details.states),
        problem=problem,
        changed_meanwhile=changed_meanwhile,
    )
    return page, status
