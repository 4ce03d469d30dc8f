"""Pages of files: a list, sums of it, its download, and one file's explanation."""

from collections.abc import Callable

from flask import Blueprint, Response, abort, render_template, request
from ses_client.errors import RefusedError

from ses_webface.files import downloads, explaining, pictures
from ses_webface.files.forms import FilesForm, Filters
from ses_webface.portal import person, service, words

blueprint = Blueprint("files", __name__, url_prefix="/files")

LISTED = 50
_OF_LISTS = frozenset({"state", "verdict", "path"})
_DOWNLOADS = {
    "csv": (downloads.as_csv, "text/csv"),
    "json": (downloads.as_json, "application/json"),
}


@blueprint.get("")
def overview() -> tuple[str, int]:
    """List files, those that are open first, then the latest end first."""
    after = request.args.get("after")
    return _page(
        "files/overview.html",
        lambda wanted: service().files(wanted, after=after, limit=LISTED),
        after=after,
    )


@blueprint.get("/summary")
def summary() -> tuple[str, int]:
    """Sum files up by job, application and element."""

    def sums(wanted: Filters) -> object:
        return service().report({name: wanted[name] for name in wanted.keys() - _OF_LISTS})

    return _page("files/summary.html", sums)


@blueprint.get("/download.<kind>")
def download(kind: str) -> Response:
    """Send all files of a filter."""
    if kind not in _DOWNLOADS:
        abort(404)
    form = FilesForm(request.args)
    form.offer(person())
    if not form.validate():
        abort(400)
    write, mimetype = _DOWNLOADS[kind]
    wanted, asked = form.wanted(person()), service()
    body = write(lambda after: asked.files(wanted, after=after, limit=downloads.MAX_AT_ONCE))
    return Response(
        body, mimetype=mimetype, headers={"Content-Disposition": f"attachment; filename=files.{kind}"}
    )


@blueprint.get("/<placement_id>")
def explain(placement_id: str) -> str:
    """Explain one file: what was asked, what was chosen and received, what was refused and why."""
    record, received = explaining.placed_and_received(service(), person(), placement_id)
    return render_template(
        "files/explain.html",
        placement_id=placement_id,
        record=record,
        because="" if record is None else explaining.because(record, words()),
        received=received,
        rate=None if received is None else pictures.rate_line(received),
        busy=None if received is None else pictures.busy_line(received),
    )


def _page(template: str, ask: Callable[[Filters], object], **more: object) -> tuple[str, int]:
    form = FilesForm(request.args)
    form.offer(person())
    listed, problems = None, []
    if form.validate():
        try:
            listed = ask(form.wanted(person()))
        except RefusedError as error:
            problems = [str(error), *(message for _location, message in error.problems)]
    else:
        problems = form.problems
    page = render_template(
        template,
        form=form,
        answer=listed,
        problems=problems,
        **more,
    )
    return page, 422 if problems else 200
