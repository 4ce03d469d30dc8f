"""What is answered before Flask is what Flask answers, and what it does not understand gets there."""

import json
from typing import Any

import pytest
from flask.testing import FlaskClient
from smed_monitor.config.settings import Settings
from smed_monitor.core.model import Outcome
from smed_monitor.http.app import create_app
from smed_monitor.http.edge import Edge
from smed_monitor.scraping.monitor import Monitor
from werkzeug.test import TestResponse


@pytest.fixture
def monitor() -> Monitor:
    """One with an element that was asked for twice, in vain."""
    text = {
        "target": ({"name": "n1", "collector": "node_exporter", "url": "http://n1/"},),
        "element": ({"id": "fs/a", "target": "n1", "device": "sda"},),
    }
    monitor = Monitor(Settings.model_validate(text))
    for _ in range(2):
        monitor.table.publish(Outcome("n1", 0.1, error="is off", reason="unreachable"))
    return monitor


@pytest.fixture
def clients(monitor: Monitor) -> tuple[FlaskClient, FlaskClient]:
    """One that meets the edge, and one that goes past it."""
    whole, past = create_app(monitor, max_waiting=1), create_app(monitor, max_waiting=1)
    assert isinstance(past.wsgi_app, Edge)
    past.wsgi_app = past.wsgi_app._behind  # type: ignore[assignment, method-assign]
    return whole.test_client(), past.test_client()


def shown(response: TestResponse) -> tuple[Any, ...]:
    kept = {name: response.headers.get(name) for name in ("Content-Type", "ETag", "Cache-Control")}
    return response.status_code, kept, json.loads(response.data or b"null")


@pytest.mark.parametrize(
    "question",
    [
        "",
        "?wait=0",
        "?after=1&changes=true",
        "?wait=2&after=1&changes=true",
        "?after=2&changes=true",
        "?after=99&changes=true",
        "?wait=-1",
        "?wait=31",
        "?after=x",
        "?after=1&after=2",
        "?after=",
        "?surplus=1",
        "?wait",
        "?changes=maybe",
    ],
)
def test_the_edge_answers_as_flask_does(clients: tuple[FlaskClient, FlaskClient], question: str) -> None:
    edge, flask = (shown(client.get(f"/v1/observations{question}")) for client in clients)
    assert edge == flask


def test_a_known_entity_tag_is_answered_alike(clients: tuple[FlaskClient, FlaskClient]) -> None:
    tag = clients[0].get("/v1/observations").headers["ETag"]
    edge, flask = (shown(each.get("/v1/observations", headers={"If-None-Match": tag})) for each in clients)
    assert edge == flask
    assert edge[0] == 304


@pytest.mark.parametrize("number", ["", "0", "-1", "²", "9" * 18, "9" * 5000])
def test_an_entity_tag_that_nobody_gave_is_none(
    clients: tuple[FlaskClient, FlaskClient], number: str
) -> None:
    """Python makes no number of more than 4,300 digits."""
    tag = clients[0].get("/v1/observations").headers["ETag"].rpartition("-")[0]
    given = {"If-None-Match": f'{tag}-{number}"'.encode().decode("latin-1")}
    edge, flask = (shown(each.get("/v1/observations", headers=given)) for each in clients)
    assert edge == flask
    assert edge[0] == 200


@pytest.mark.parametrize("method", ["post", "delete", "head", "options"])
def test_other_methods_are_left_to_flask(clients: tuple[FlaskClient, FlaskClient], method: str) -> None:
    edge, flask = (getattr(client, method)("/v1/observations") for client in clients)
    assert (edge.status_code, edge.headers.get("Allow")) == (flask.status_code, flask.headers.get("Allow"))


def test_a_question_that_is_right_never_meets_flask(monitor: Monitor) -> None:
    app = create_app(monitor)
    edge = app.wsgi_app
    assert isinstance(edge, Edge)

    def behind(*_: object) -> Any:
        raise AssertionError("went on to Flask")

    edge._behind = behind
    assert app.test_client().get("/v1/observations?wait=2&after=1&changes=true").status_code == 200
    with pytest.raises(AssertionError, match="went on"):
        app.test_client().get("/v1/observations?wait=32")
