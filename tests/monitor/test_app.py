"""What is answered over HTTP: the contract, the observations, the metrics, the errors."""

import runpy
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import schemathesis
import yaml
from apiflask import APIFlask
from hypothesis import HealthCheck, settings
from patience import wait_until
from prometheus_client.parser import text_string_to_metric_families
from smed_monitor.config.settings import ElementSettings, Settings, Target
from smed_monitor.core.model import ONE_SIDED, PULL, Outcome, RatePair, now
from smed_monitor.http.app import create_app
from smed_monitor.http.schemas import ObservationsOut, Problem, ReadinessOut
from smed_monitor.scraping.monitor import Monitor

WRITE_CONTRACT = Path(__file__).parent / "write_contract.py"


def monitor_of(count: int = 2) -> Monitor:
    """A monitor of ``count`` elements on one target, not started."""
    return Monitor(
        Settings(
            target=(Target(name="n1", collector="node_exporter", url="http://n1:9100/metrics"),),
            element=tuple(
                ElementSettings(id=f"union/b{number}", target="n1", mount_point=f"/srv/qstorman/b{number}")
                for number in range(1, count + 1)
            ),
        )
    )


def good(monitor: Monitor, age: float = 0.0) -> Outcome:
    """A good outcome for all elements, ``age`` seconds old."""
    moment = now()
    moment = replace(moment, monotonic=moment.monotonic - age, wall=moment.wall - age)
    records = tuple(
        replace(
            each.record,
            at=moment,
            read=RatePair(0.0, 0.0),
            write=RatePair(5e6, 2.5e6),
            queue_depth=1.5,
            free_bytes=1e9,
            size_bytes=2e9,
            missing=False,
            detail="",
        )
        for each in monitor.table.snapshot().observations
    )
    return Outcome(target="n1", duration_seconds=0.02, records=records)


def series(app: APIFlask) -> dict[tuple[str, ...], float]:
    """/metrics as {(name, element or target, other label): value}."""
    order = ("element", "target", "window", "state", "reason")
    text = app.test_client().get("/metrics").text
    return {
        (sample.name, *(sample.labels[label] for label in order if label in sample.labels)): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_the_committed_contract_is_the_one_served() -> None:
    module = runpy.run_path(str(WRITE_CONTRACT))
    committed = yaml.load(module["CONTRACT"].read_text(), yaml.CSafeLoader)
    served = create_app(monitor_of()).test_client().get("/openapi.json").json
    assert served is not None
    assert len(served["paths"]) == 6
    assert committed == served, f"openapi.yaml is out of date: run {WRITE_CONTRACT.name}"


def contract_of_a_monitor_that_never_waits() -> Any:
    monitor = monitor_of()
    monitor.table.close()
    return schemathesis.openapi.from_wsgi("/openapi.json", create_app(monitor))


schema = contract_of_a_monitor_that_never_waits()


# /readyz rightly answers 503 here; its own test looks at it.
@schema.exclude(path="/readyz").parametrize()
@settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))
def test_generated_requests_get_what_the_contract_says(case: schemathesis.Case) -> None:
    case.call_and_validate()


def test_an_observation_carries_rates_space_state_and_age() -> None:
    monitor = monitor_of()
    monitor.table.publish(good(monitor, age=0.5))
    answer = create_app(monitor).test_client().get("/v1/observations").json
    assert answer is not None
    assert answer["sequence"] == 1
    assert (answer["current_window_seconds"], answer["average_window_seconds"]) == (2.0, 60.0)
    observation = answer["observations"][0]
    assert observation.pop("age_seconds") >= 0.5
    assert observation.pop("sampled_at") == pytest.approx(now().wall, abs=60)
    assert observation == {
        "element": "union/b1",
        "source": "node_exporter",
        "target": "http://n1:9100/metrics",
        "state": "ok",
        "interval_seconds": None,
        "read_bytes_per_second": {"current": 0.0, "average": 0.0},
        "write_bytes_per_second": {"current": 5e6, "average": 2.5e6},
        "queue_depth": 1.5,
        "service_seconds": None,
        "degraded": False,
        "no_create": False,
        "read_capability_bytes_per_second": None,
        "write_capability_bytes_per_second": None,
        "capability_source": "",
        "free_bytes": 1e9,
        "size_bytes": 2e9,
        "read_only": False,
        "detail": "",
    }


@pytest.mark.parametrize("count", [1, 1000])
def test_every_element_is_answered_in_the_order_of_the_settings_as_the_contract_says(count: int) -> None:
    monitor = monitor_of(count)
    app = create_app(monitor)
    for _ in range(2):
        answer = ObservationsOut.model_validate_json(app.test_client().get("/v1/observations").data)
        assert [o.element for o in answer.observations] == [f"union/b{n}" for n in range(1, count + 1)]
        monitor.table.publish(good(monitor))


def test_a_wait_is_answered_when_a_sample_comes() -> None:
    monitor = monitor_of()
    client = create_app(monitor).test_client()
    answers: list[Any] = []
    thread = threading.Thread(
        target=lambda: answers.append(client.get("/v1/observations?wait=30&after=0").json), daemon=True
    )
    thread.start()
    thread.join(timeout=0.05)
    assert not answers
    monitor.table.publish(good(monitor))
    thread.join(timeout=60)
    assert answers[0]["sequence"] == 1
    assert answers[0]["observations"][0]["state"] == "ok"


def test_too_many_waits_are_refused_and_plain_questions_still_answered() -> None:
    monitor = monitor_of()
    app = create_app(monitor, max_waiting=1)

    def wait() -> None:
        """Until it has the place: a question below may have it first."""
        while app.test_client().get("/v1/observations?wait=30&after=0").status_code == 503:
            pass

    thread = threading.Thread(target=wait, daemon=True)
    thread.start()
    wait_until(lambda: app.test_client().get("/v1/observations?wait=0.01").status_code == 503, "one too many")
    refused = app.test_client().get("/v1/observations?wait=0.01")
    assert refused.headers["Retry-After"] == "1"
    assert Problem.model_validate_json(refused.data).type == "urn:qstorman:problem:too-many-waiting"
    assert app.test_client().get("/v1/observations").status_code == 200
    monitor.table.close()
    thread.join(timeout=60)


def test_the_address_whose_readers_wait_in_most_places_makes_room_for_another() -> None:
    monitor = monitor_of()
    app = create_app(monitor, max_waiting=3)

    def wait(address: str) -> int:
        question, asked_by = "/v1/observations?wait=30&after=0", {"REMOTE_ADDR": address}
        return app.test_client().get(question, environ_base=asked_by).status_code

    with ThreadPoolExecutor(8) as pool:
        try:
            hog = [pool.submit(wait, "192.0.2.1") for _ in range(4)]
            refused = next(as_completed(hog, timeout=60))
            assert refused.result() == 503, "its own make no room for it"
            others = [pool.submit(wait, "192.0.2.2")]
            hog.remove(refused)
            ended = next(as_completed(hog, timeout=60))
            assert ended.result() == 200
            assert wait("192.0.2.1") == 503, "two of three are its own"
            assert wait("192.0.2.2") == 503, "nor has anybody two more"
        finally:
            monitor.table.close()
    assert {other.result() for other in (*hog, *others)} == {200}


@pytest.mark.parametrize(
    ("query", "location"),
    [
        ("wait=31", "query.wait"),
        ("wait=-1", "query.wait"),
        ("wait=soon", "query.wait"),
        ("wait=nan", "query.wait"),
        ("after=x", "query.after"),
        ("after=-1", "query.after"),
        ("since=5", "query.since"),
    ],
)
def test_a_wrong_parameter_is_a_problem_that_names_it(query: str, location: str) -> None:
    response = create_app(monitor_of()).test_client().get(f"/v1/observations?{query}")
    assert response.status_code == 422
    assert response.content_type == "application/problem+json"
    problem = Problem.model_validate_json(response.data)
    assert problem.errors is not None
    assert [error.location for error in problem.errors] == [location]


@pytest.mark.parametrize(("method", "path", "status"), [("GET", "/nothing", 404), ("POST", "/metrics", 405)])
def test_other_errors_are_problems_too(method: str, path: str, status: int) -> None:
    response = create_app(monitor_of()).test_client().open(path, method=method)
    assert response.status_code == status
    assert response.content_type == "application/problem+json"
    assert Problem.model_validate_json(response.data).status == status


def test_metrics_show_every_element_and_the_scrapes() -> None:
    monitor = monitor_of()
    monitor.table.publish(good(monitor))
    monitor.table.publish(Outcome("n1", 0.5, error="gave no whole answer", reason="timeout"))
    shown = series(create_app(monitor))
    for element in ("union/b1", "union/b2"):
        assert shown["smed_element_write_bytes_per_second", element, "current"] == 5e6
        assert shown["smed_element_write_bytes_per_second", element, "average"] == 2.5e6
        assert shown["smed_element_read_bytes_per_second", element, "current"] == 0
        assert shown["smed_element_queue_depth", element] == 1.5
        assert shown["smed_element_free_bytes", element] == 1e9
        assert shown["smed_element_size_bytes", element] == 2e9
        assert shown["smed_element_read_only", element] == 0
        assert shown["smed_element_state", element, "ok"] == 1
    assert shown["smed_scrape_duration_seconds_count", "n1"] == 2
    assert shown["smed_scrape_duration_seconds_sum", "n1"] == pytest.approx(0.52)
    assert shown["smed_scrape_failures_total", "n1", "timeout"] == 1
    assert shown["smed_target_up", "n1"] == 0
    assert shown["smed_sequence",] == 2


def test_how_a_mirrored_table_comes_is_shown() -> None:
    monitor = monitor_of()
    assert not [key for key in series(create_app(monitor)) if key[0] == "smed_target_one_sided"]
    for way, value, said in ((ONE_SIDED, 1, "one-sidedly"), (PULL, 0, "no one-sided reads")):
        monitor.table.publish(replace(good(monitor), way=way))
        app = create_app(monitor)
        assert series(app)["smed_target_one_sided", "n1"] == value
        checks = app.test_client().get("/readyz").get_json()["checks"]
        assert said in next(check["detail"] for check in checks if check["name"] == "target n1")


def test_metrics_of_a_stale_element_show_state_and_age_but_no_frozen_figures() -> None:
    monitor = monitor_of(1)
    monitor.table.publish(good(monitor, age=60))
    shown = series(create_app(monitor))
    assert shown["smed_element_state", "union/b1", "stale"] == 1
    assert shown["smed_element_state", "union/b1", "ok"] == 0
    assert shown["smed_element_age_seconds", "union/b1"] >= 60
    assert not [key for key in shown if "bytes" in key[0] or "queue" in key[0]]


def test_readiness_needs_a_running_scheduler_and_an_answering_target(
    exporter: Any, answer_whole: Any, page: Callable[[str], bytes]
) -> None:
    exporter.answer = answer_whole(page("before"))
    monitor = Monitor(
        Settings(
            interval_seconds=0.05,
            target=(Target(name="n1", collector="node_exporter", url=exporter.url),),
            element=(ElementSettings(id="union/b1", target="n1", mount_point="/srv/qstorman/b1"),),
        )
    )
    client = create_app(monitor).test_client()

    def asked() -> ReadinessOut:
        response = client.get("/readyz")
        answer = ReadinessOut.model_validate_json(response.data)
        assert response.status_code == (200 if answer.ready else 503)
        return answer

    assert not asked().ready
    monitor.start()
    try:
        wait_until(lambda: asked().ready, "ready")
        exporter.close()
        wait_until(lambda: "Connection refused" in asked().checks[1].detail, "its only target is missed")
        answer = asked()
        assert not answer.ready
        assert [(c.name, c.ok) for c in answer.checks] == [("scheduler", True), ("target n1", False)]
    finally:
        monitor.stop()
    assert client.get("/healthz").json == {"status": "ok"}


def test_a_reader_that_has_the_present_sequence_gets_304_and_news_afterwards() -> None:
    monitor = monitor_of()
    client = create_app(monitor).test_client()
    first = client.get("/v1/observations")
    tag = {"If-None-Match": first.headers["ETag"]}
    unchanged = client.get("/v1/observations", headers=tag)
    assert (unchanged.status_code, unchanged.data) == (304, b"")
    monitor.table.publish(good(monitor))
    news = client.get("/v1/observations?wait=20", headers=tag)
    assert news.status_code == 200
    assert news.headers["ETag"] != first.headers["ETag"]


def test_a_tag_of_another_run_of_the_monitor_is_not_believed() -> None:
    tag = create_app(monitor_of()).test_client().get("/v1/observations").headers["ETag"]
    other = create_app(monitor_of()).test_client().get("/v1/observations", headers={"If-None-Match": tag})
    assert other.status_code == 200


def test_changes_are_only_the_elements_with_news_and_everything_when_too_much_was_missed() -> None:
    monitor = monitor_of(3)
    client = create_app(monitor).test_client()
    outcome = good(monitor)
    monitor.table.publish(outcome)
    monitor.table.publish(replace(outcome, records=outcome.records[1:2]))
    part = client.get("/v1/observations?changes=true&after=1").json
    assert part is not None
    assert (part["complete"], part["sequence"]) == (False, 2)
    assert [each["element"] for each in part["observations"]] == ["union/b2"]
    for after in ("", "&after=99"):
        whole = client.get(f"/v1/observations?changes=true{after}").json
        assert whole is not None
        assert whole["complete"]
        assert len(whole["observations"]) == 3
