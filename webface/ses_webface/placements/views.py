"""Pages of placements: a list, and one file's explanation."""

from __future__ import annotations

from flask import Blueprint, render_template, request

from ses_webface.errors import RefusedError
from ses_webface.placements import services
from ses_webface.placements.forms import PlacementsForm
from ses_webface.portal import person, portal, words

blueprint = Blueprint("placements", __name__, url_prefix="/placements")


@blueprint.get("")
def overview() -> tuple[str, int]:
    """List placements, the last one first."""
    form = PlacementsForm(request.args)
    problem, found = None, services.Found((), 0)
    try:
        found = services.find(
            portal().selection,
            person(),
            path=(form.path.data or "").strip(),
            element=(form.element.data or "").strip(),
            state=form.state.data or "",
            user=(form.user.data or "").strip(),
        )
    except RefusedError as error:
        problem = "; ".join([str(error), *(message for _location, message in error.problems)])
    page = render_template(
        "placements/overview.html",
        form=form,
        problem=problem,
        placements=found.placements,
        without_file=found.without_file,
        limit=services.MAX_LISTED,
        filtered=any((form.path.data, form.element.data, form.state.data, form.user.data)),
        words=services.state_words,
    )
    return page, 422 if problem else 200


@blueprint.get("/<placement_id>")
def explain(placement_id: str) -> str:
    """Explain one placement: what was asked, what was chosen, what was refused and why."""
    record = services.one(portal().selection, person(), placement_id)
    return render_template(
        "placements/explain.html",
        record=record,
        because=services.because(record, words()),
        words=services.state_words(record),
    )
