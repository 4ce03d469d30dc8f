"""Every error is problem+json, names its cause, and gives nothing away."""

from typing import Any

import pytest
from ses_service.api.problems import problem_of
from ses_service.knowledge.errors import InvalidDescriptionError

Service = Any
JSON = "application/json"


def problem(answer: Any, status: int, slug: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.content_type == "application/problem+json"
    body: dict[str, Any] = answer.get_json()
    assert body["type"] == f"urn:qstorman:problem:{slug}"
    assert body["status"] == status
    assert body["title"]
    assert body["detail"]
    return body


def test_an_unknown_path(service: Service) -> None:
    problem(service.get("/v1/nothing"), 404, "not-found")


def test_a_method_that_is_not_served(service: Service) -> None:
    answer = service.client.delete("/v1/elements")
    problem(answer, 405, "method-not-allowed")
    assert "GET" in answer.headers["Allow"]


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", None])
def test_a_body_that_is_not_declared_as_json(service: Service, content_type: str | None) -> None:
    answer = service.client.post("/v1/selections", data='{"subject":{}}', content_type=content_type)
    problem(answer, 415, "unsupported-media-type")


@pytest.mark.parametrize("text", ["", "{", "{bad}", "\xff", "[" * 100_000, '{"a":1}x', "9" * 10_000])
def test_a_body_that_is_not_json(service: Service, text: str) -> None:
    answer = service.client.post("/v1/selections", data=text.encode("latin-1"), content_type=JSON)
    assert "JSON" in problem(answer, 400, "malformed-request")["detail"]


@pytest.mark.parametrize("text", ["null", "[]", "5", '"text"', "{}"])
def test_a_body_of_another_shape(service: Service, text: str) -> None:
    problem(service.client.post("/v1/selections", data=text, content_type=JSON), 422, "invalid-request")


def test_a_body_that_is_too_large(serve: Any) -> None:
    small = serve(1, max_body=1000).refresh()
    answer = small.client.post("/v1/selections", data=b" " * 1001, content_type=JSON)
    problem(answer, 413, "body-too-large")


def test_an_error_of_our_own_gives_no_details_away(service: Service, monkeypatch: Any) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("secret inside")

    monkeypatch.setattr(service.runtime.state, "select", fail)
    answer = service.post("/v1/selections", {"subject": {"user": "a"}})
    problem(answer, 500, "internal-error")
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("post", "/v1/selections", {"subject": {"user": 5}, "limit": -1, "seed": "x", "colour": 1, "a": 2}),
        ("post", "/v1/selections", {"subject": {"user": "a"}, "storage_system": "nowhere"}),
        ("post", "/v1/nodes/n1/announcements", []),
        ("put", "/v1/requirements/application/no-colon", {"requirements": []}),
        ("get", "/v1/placements?limit=x&state=y", None),
        ("get", "/v1/placements?user=a&user=b", None),
    ],
)
def test_each_fault_of_a_request_is_named_once(service: Service, method: str, path: str, body: Any) -> None:
    call = getattr(service.client, method)
    answer = call(path, **({} if body is None else {"json": body}))
    document = problem(answer, 422, "unknown-name" if "nowhere" in str(body) else "invalid-request")
    said = [(error["location"], error["message"]) for error in document["errors"]]
    assert len(set(said)) == len(said)
    assert not any(message in document["detail"] for _, message in said)
    assert document["errors"][0]["location"] in document["detail"]
    assert ("2 more" in document["detail"]) == (len(document["errors"]) == 5)


def test_a_parameter_given_twice(service: Service) -> None:
    body = problem(service.get("/v1/placements?user=a&user=b"), 422, "invalid-request")
    assert body["errors"] == [{"location": "query.user", "message": "given more than once"}]


def test_what_no_store_keeps_is_the_callers_fault(service: Service) -> None:
    fault = InvalidDescriptionError("requirements of a user", ["'a\\x00' has characters no store keeps"])
    service.knowledge.broken = fault
    answer = service.client.put("/v1/requirements/user/a", json={"requirements": []})
    body = problem(answer, 422, "invalid-request")
    assert body["errors"] == [{"location": "json.requirements", "message": fault.messages[0]}]


def test_a_description_of_the_services_own_is_its_own_fault() -> None:
    body = problem_of(InvalidDescriptionError("site.ttl", ["element b1 has no target"]))
    assert (body.status, body.slug) == (500, "invalid-description")
    assert "site.ttl: element b1 has no target" in body.detail
    assert "Retry-After" not in body.headers, "trying again does not mend it"
