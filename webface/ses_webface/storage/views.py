"""The storage page: a map and a table of every element."""

from __future__ import annotations

from flask import Blueprint, render_template, request

from ses_webface.portal import service
from ses_webface.storage.forms import MEASURES, StorageForm
from ses_webface.storage.services import build_map

blueprint = Blueprint("storage", __name__, url_prefix="/storage")


@blueprint.get("")
def overview() -> str:
    """Show all elements; only the part that changes when the page asks for that part."""
    form = StorageForm(request.args)
    storage = service().elements()
    show = form.show.data if form.show.data in dict(MEASURES) else "write"
    shown = build_map(storage, show, form.system.data or "")
    form.show.data = show
    template = "storage/elements.html" if request.headers.get("HX-Request") else "storage/overview.html"
    return render_template(template, form=form, map=shown, storage=storage, show=show, measures=MEASURES)
