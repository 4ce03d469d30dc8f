"""Pages of placements: a list, and one file's explanation."""

from __future__ import annotations

from collections.abc import Mapping

from flask import Blueprint, render_template, request

from ses_webface.errors import RefusedError
from ses_webface.files_model import verdict_words
from ses_webface.placements import pictures, services
from ses_webface.placements.forms import PlacementsForm
from ses_webface.portal import person, portal, words

blueprint = Blueprint("placements", __name__, url_prefix="/placements")


@blueprint.get("")
def overview() -> tuple[str, int]:
    """List placements, the last one first."""
    form = PlacementsForm(request.args)
    problem, found = None, services.Found((), 0)
    verdicts: Mapping[str, str] = {}
    try:
        found = services.find(
            portal().selection,
            person(),
            path=(form.path.data or "").strip(),
            element=(form.element.data or "").strip(),
            state=form.state.data or "",
            user=(form.user.data or "").strip(),
        )
        verdicts = services.verdicts(portal().selection, person(), (form.user.data or "").strip())
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
        verdicts=verdicts,
        verdict_words=verdict_words,
    )
    return page, 422 if problem else 200


@blueprint.get("/<placement_id>")
def explain(placement_id: str) -> str:
    """Explain one placement: what was asked, what was chosen, what was refused and why."""
    record = services.one(portal().selection, person(), placement_id)
    received = portal().selection.received(placement_id, acting=person().name)
    return render_template(
        "placements/explain.html",
        record=record,
        because=services.because(record, words()),
        received=received,
        rate=None if received is None else pictures.rate_line(received),
        busy=None if received is None else pictures.busy_line(received),
        words=services.state_words(record),
        verdict_words=verdict_words,
    )
