"""``ses drain``, ``undrain`` and ``elements add, set, remove`` against a real service."""

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
from knowledge_service import KnowledgeService, knowledge_service


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeService]:
    with knowledge_service(tmp_path_factory.mktemp("elements")) as running:
        yield running


def done(result, code: int = 0) -> str:
    """Return what was printed."""
    assert result.exit_code == code, result.output
    return result.output


def listed(site: KnowledgeService, name: str) -> dict | None:
    elements = json.loads(done(site("elements", "list", "--json")))["elements"]
    return next((element for element in elements if element["id"] == name), None)


def test_a_drained_element_takes_no_files_until_it_is_undrained(site):
    best = json.loads(done(site("rank", "--user", "alice", "--json")))["candidates"][0]["element"]
    shown = done(site("drain", best, "--reason", "disk 12 is replaced"))
    assert "+ qsm:state qsm:Draining" in shown
    assert re.search(rf"Open files: 0 of 0 in union are on {best}; they stay there\.", shown)
    assert f"{best} takes no further files; ses undrain {best} ends it." in shown
    answer = json.loads(done(site("rank", "--user", "alice", "--json")))
    assert best not in [candidate["element"] for candidate in answer["candidates"]]
    (refused,) = [candidate for candidate in answer["refused"] if candidate["element"] == best]
    assert refused["reason"] == "draining"
    assert refused["detail"] == "The site is emptying it (disk 12 is replaced); no file may be added."
    element = listed(site, best)
    assert (element["state"], element["state_reason"], element["state_until"]) == (
        "draining",
        "disk 12 is replaced",
        None,
    )
    assert "drain union" in done(site("kb", "history", "-n", "1"))
    assert "takes files again" in done(site("undrain", best))
    assert (listed(site, best)["state"], listed(site, best)["state_reason"]) == ("active", None)
    assert f"{best} is not being drained" in done(site("undrain", best), 1)


def test_draining_for_a_time_says_so_and_a_time_that_is_over_is_refused(site):
    until = datetime.now(UTC).replace(microsecond=0) + timedelta(hours=2)
    done(site("drain", "union/b3", "--until", until.isoformat()))
    assert listed(site, "union/b3")["state_until"] == until.isoformat().replace("+00:00", "Z")
    refused = json.loads(done(site("rank", "--user", "alice", "--json")))["refused"]
    assert f"until {until:%Y-%m-%d %H:%M} UTC; no file" in refused[0]["detail"]
    done(site("undrain", "union/b3"))
    assert "is over already" in done(site("drain", "union/b3", "--until", "2020-01-01"), 2)


def test_a_preview_says_whose_files_would_go_elsewhere_and_changes_nothing(site):
    done(site("requirements", "set", "user", "alice", "current-write-rate>=80MB/s"))
    ranked = json.loads(done(site("rank", "--user", "alice", "--json")))["candidates"]
    best = ranked[0]["element"]
    made = json.loads(done(site("drain", best, "--dry-run", "--json")))
    assert made["change"] is None
    assert made["effect"]["other_elements"] == 7
    assert [subject["name"] for subject in made["effect"]["moved"]] == ["alice"]
    assert made["effect"]["moved"][0]["instead"] not in (None, best)
    done(site("requirements", "set", "profile", "alice:loop", "current-write-rate>=80MB/s"))
    again = json.loads(done(site("drain", best, "--dry-run", "--json")))["effect"]
    assert again == made["effect"], "a stored profile that nobody took up has no files"
    text = done(site("drain", best, "--dry-run"))
    assert re.search(
        r"Requirement sets: 1 of \d+ would have their next file there\.\n(.*\n)+user alice +\| union", text
    )
    assert text.endswith("Nothing was changed.\n")
    assert listed(site, best)["state"] == "active"


def test_an_element_is_added_changed_removed_and_put_back(site):
    where = ("--server", "nas9", "--target", "/srv/disk9")
    shown = done(site("elements", "add", "union/b9", *where, "--read", "500MB/s", "--capacity", "1.5TiB"))
    assert "+ site union/server/nas9" in shown
    answer = listed(site, "union/b9")
    assert (answer["server"], answer["target"], answer["nominal"]["read_mb_s"]) == ("nas9", "/srv/disk9", 500)
    assert answer["capacity_bytes"] == pytest.approx(1.5 * 2**40)
    assert "already" in done(site("elements", "add", "union/b9", *where), 1)
    done(site("elements", "set", "union/b9", "--tier", "flash", "--write", "1.2GB/s"))
    answer = listed(site, "union/b9")
    assert (answer["tier"], answer["nominal"]) == ("flash", {"read_mb_s": 500, "write_mb_s": 1200})
    assert "Nothing changes" in done(site("elements", "set", "union/b9", "--tier", "flash"))
    shown = done(site("elements", "remove", "union/b9"))
    assert "- site union/server/nas9" in shown
    assert listed(site, "union/b9") is None
    number = re.search(r"ses kb undo (\d+)", shown)[1]
    done(site("kb", "undo", number))
    assert listed(site, "union/b9") == answer
    done(site("elements", "remove", "union/b9"))


@pytest.mark.parametrize(
    ("args", "says", "code"),
    [
        (("drain", "b1"), "is not an element. Write its storage system", 2),
        (("drain", "union/nowhere"), "has no element nowhere", 5),
        (("drain", "union/bb1"), "did you mean b1", 5),
        (("drain", "nowhere/b1"), "no storage system nowhere", 5),
        (("elements", "set", "union/b1"), "Nothing to set", 2),
        (("elements", "set", "union/b1", "--read", "50"), "is not a quantity", 2),
        (("elements", "set", "union/b1", "--read", "50MB"), "did you mean 50MB/s?", 2),
        (("elements", "set", "union/b1", "--capacity", "5TB/s"), "did you mean 5TB?", 2),
        (("elements", "set", "union/b1", "--write", "800Mb/s"), "did you mean 100MB/s?", 2),
        (("elements", "add", "union/b 9", "--server", "s", "--target", "t"), "name", 2),
    ],
)  # fmt: skip
def test_mistakes_are_reported_in_the_words_of_who_made_them(site, args, says, code):
    answer = done(site(*args), code)
    assert says in answer
    assert "json." not in answer
    assert "?." not in answer


def test_only_administrators_change_elements(site):
    for args in (("drain", "union/b1"), ("undrain", "union/b1"), ("elements", "remove", "union/b1")):
        done(site(*args, who="alice"), 4)
    assert listed(site, "union/b1")["state"] == "active"


def test_the_last_element_of_a_storage_system_is_not_removed(site):
    names = [element["id"] for element in json.loads(done(site("elements", "list", "--json")))["elements"]]
    for name in names[1:]:
        done(site("elements", "remove", name))
    assert "without elements" in done(site("elements", "remove", names[0]), 2)
