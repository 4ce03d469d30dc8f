"""``ses kb export, import, diff, history, undo``, against a real service, and ``ses discover --mergerfs``."""

import json
import os
import re
from collections.abc import Iterator

import pytest
from knowledge_service import ROOT, KnowledgeService, knowledge_service

REQUIREMENTS = ROOT / "ontology/examples/requirements.ttl"


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KnowledgeService]:
    with knowledge_service(tmp_path_factory.mktemp("kb")) as running:
        yield running


def done(result, code: int = 0) -> str:
    """Return what was printed."""
    assert result.exit_code == code, result.output
    return result.output


def exported(kb: KnowledgeService, *options: str) -> str:
    return done(kb("kb", "export", *options))


def number_in(text: str) -> str:
    match = re.search(r"change (\d+)", text)
    assert match, text
    return match[1]


def test_what_is_exported_can_be_imported_and_changes_nothing(kb, tmp_path):
    done(kb("kb", "import", str(REQUIREMENTS)))
    file = tmp_path / "all.ttl"
    done(kb("kb", "export", "-o", str(file)))
    assert file.read_text() == exported(kb)
    assert done(kb("kb", "diff", "live", str(file))) == "No difference.\n"
    for mode in ("--merge", "--replace"):
        assert done(kb("kb", "import", mode, str(file))) == "Nothing changes.\n"
    assert exported(kb) == file.read_text()
    assert done(kb("kb", "validate", str(file))).endswith("nothing wrong\n")


@pytest.mark.root
def test_a_file_that_is_exported_anew_stays_its_owners_and_as_open_as_it_was(kb, tmp_path):
    file = tmp_path / "site.ttl"
    file.write_text("")
    file.chmod(0o640)
    os.chown(file, 65534, 65534)
    before = os.umask(0o077)
    try:
        done(kb("kb", "export", "--site", "-o", str(file)))
    finally:
        os.umask(before)
    status = file.stat()
    assert (status.st_uid, status.st_gid, status.st_mode & 0o777) == (65534, 65534, 0o640)
    assert file.read_text()


def test_parts_and_formats_of_an_export(kb, tmp_path):
    done(kb("kb", "import", str(REQUIREMENTS)))
    assert "qsm:RequirementSet" not in exported(kb, "--site")
    assert "qsm:Branch" not in exported(kb, "--requirements")
    trig = tmp_path / "all.trig"
    trig.write_text(exported(kb, "--format", "trig"))
    assert trig.read_text().count("GRAPH <") == 2
    assert done(kb("kb", "import", "--replace", str(trig))) == "Nothing changes.\n"


def test_an_import_shows_what_changes_and_can_be_taken_back(kb, tmp_path):
    before = exported(kb)
    changed = tmp_path / "changed.ttl"
    changed.write_text(exported(kb, "--site").replace("90.0e0", "95.5"))
    assert "nothing was changed" in done(kb("kb", "import", "--dry-run", str(changed)))
    assert exported(kb) == before
    out = done(kb("kb", "diff", "live", str(changed)), 1)
    assert re.search(
        r"~ site demo/b1\n +- qsm:nominalWriteRate .*90\.0e0.*\n +\+ qsm:nominalWriteRate .*95\.5e0", out
    )
    shown = done(kb("kb", "import", str(changed)))
    assert shown.startswith(out)
    number = number_in(shown.splitlines()[-1])
    assert "95.5e0" in exported(kb)
    detail = done(kb("kb", "history", number))
    assert "demo/b1" in detail
    assert "+ qsm:nominalWriteRate" in detail
    assert "Undone by change" in done(kb("kb", "undo", number))
    assert exported(kb) == before
    listed = json.loads(done(kb("kb", "history", "-n", "2", "--json")))["changes"]
    assert [change["author"] for change in listed] == ["admin", "admin"]
    assert listed[0]["undone"] == int(number)
    assert "import of changed.ttl (merge)" in listed[1]["reason"]


def test_files_are_compared_without_a_service(kb, tmp_path, dead_url):
    exported_file, other = tmp_path / "a.ttl", tmp_path / "b.ttl"
    exported_file.write_text(exported(kb, "--site"))
    other.write_text(exported_file.read_text().replace("demo/b8", "demo/b9").replace("300.0e0", "300"))
    out = done(kb("kb", "diff", "--url", dead_url, str(exported_file), str(other)), 1)
    assert "- site demo/b8" in out
    assert "+ site demo/b9" in out
    again = tmp_path / "c.ttl"
    again.write_text(exported_file.read_text().replace("300.0e0", "3e2"))
    data = json.loads(done(kb("kb", "diff", "--json", "--url", dead_url, str(exported_file), str(again))))
    assert data == {"different": False, "total": 0, "subjects": []}


def test_a_faulty_file_is_refused_line_by_line(kb, tmp_path):
    before = exported(kb)
    faulty = tmp_path / "faulty.ttl"
    text = (ROOT / "ontology/examples/union-site.ttl").read_text()
    faulty.write_text(text.replace("numericValue 90.0e0", "numericValue -90.0e0"))
    out = done(kb("kb", "import", "--replace", str(faulty)), 1)
    assert re.search(r"faulty\.ttl: line 26: .*b1", out)
    assert "is refused; nothing was changed" in out
    assert exported(kb) == before


def test_a_long_import_says_what_it_does_but_not_in_json(kb, tmp_path):
    large = tmp_path / "large.ttl"
    large.write_text((ROOT / "ontology/examples/requirements.ttl").read_text() + "#" * 200_000)
    result = kb("kb", "import", "--dry-run", str(large))
    assert "Checking what" in result.stderr
    assert "Checking what" not in result.stdout
    assert "Changing" not in result.stderr
    result = kb("kb", "import", str(large), "--json")
    assert result.stderr == ""
    json.loads(result.stdout)
    assert kb("kb", "import", "--dry-run", str(REQUIREMENTS)).stderr == ""


def test_only_administrators_exchange_and_only_owners_undo(kb, tmp_path):
    done(kb("requirements", "set", "user", "alice", "free-capacity>=1GB", who="alice"))
    mine = json.loads(done(kb("kb", "history", "--subject", "user/alice", "--json", who="alice")))["changes"][
        0
    ]
    assert mine["author"] == "alice"
    done(kb("requirements", "set", "vo", "materials", "free-capacity>=3GB"))
    other = json.loads(done(kb("kb", "history", "--subject", "vo/materials", "--json")))["changes"][0]
    for command in (
        ("export",),
        ("import", str(REQUIREMENTS)),
        ("undo", str(other["number"])),
        ("undo", "1"),
    ):
        assert done(kb("kb", *command, who="alice"), 4)
    assert done(kb("kb", "history", who="node"), 4)
    assert "Undone" in done(kb("kb", "undo", str(mine["number"]), who="alice"))
    assert "nothing" in done(kb("requirements", "get", "user", "alice", who="alice"))


def test_undo_after_a_later_change_needs_force(kb):
    numbers = []
    for size in (1, 2):
        done(kb("requirements", "set", "user", "eve", f"free-capacity>={size}GB"))
        numbers.append(
            str(json.loads(done(kb("kb", "history", "--json", "-n", "1")))["changes"][0]["number"])
        )
    refused = done(kb("kb", "undo", numbers[0]), 1)
    assert f"by change {numbers[1]}" in refused
    assert "would change" in done(kb("kb", "undo", "--force", "--dry-run", numbers[0]))
    done(kb("kb", "undo", "--force", numbers[0]))
    assert "nothing" in done(kb("requirements", "get", "user", "eve"))
    assert "no change 99999" in done(kb("kb", "undo", "99999"), 5)


def test_a_discovered_union_is_merged_and_keeps_what_people_changed(kb, union, tmp_path):
    mount, _branches = union
    file = tmp_path / "found.ttl"
    done(kb("discover", "--mergerfs", str(mount), "--turtle", str(file)))
    # The example site has a union of this name.
    file.write_text(file.read_text().replace('"union"', '"other"').replace("<union/", "<other/"))
    assert "nothing wrong" in done(kb("kb", "validate", str(file)))
    assert "+ site other/b1" in done(kb("kb", "import", "--discovered", str(file)))
    name = re.search(r"<(\S+/b1)> a qsm:Branch", file.read_text())
    assert name
    people = (
        "@prefix qsm: <https://w3id.org/qstorman/ontology#> .\n"
        "@base <https://w3id.org/qstorman/site/> .\n"
        f'<{name[1]}> qsm:state qsm:Draining ; qsm:tier "hdd" .\n'
    )
    done(kb("kb", "import", "-", text=people))
    assert done(kb("kb", "import", "--discovered", str(file))).endswith("Nothing changes.\n")
    block = re.search(rf"<{re.escape(name[1])}> a.*?\n\n", exported(kb), re.DOTALL)
    assert block
    assert "qsm:Draining" in block[0]
    assert 'qsm:tier "hdd"' in block[0]
    file.write_text(file.read_text().replace("qsm:Active", "qsm:ReadOnly"))
    shown = done(kb("kb", "import", "--discovered", "--dry-run", str(file)))
    assert re.search(
        r"! \S+/b1 qsm:state: described qsm:Draining, discovered qsm:ReadOnly; kept: described", shown
    )
    preferred = done(kb("kb", "import", "--discovered", "--prefer", "discovered", "--dry-run", str(file)))
    assert "kept: discovered" in preferred


def test_discover_lists_the_branches_of_a_union(ses, union):
    mount, branches = union
    data = ses.json("discover", "--mergerfs", str(mount))
    assert [branch["directory"] for branch in data["branches"]] == [str(branch) for branch in branches]
    assert {branch["mode"] for branch in data["branches"]} == {"RW"}
    assert "b2" in ses("discover", "--mergerfs", str(mount)).output
    assert ses("discover", "--mergerfs", str(branches[0])).exit_code == 5
    assert ses("discover").exit_code == 2


def test_options_that_do_not_go_together_are_not_understood(ses):
    assert ses("kb", "import", "x.ttl", "--prefer", "discovered").exit_code == 2
    assert ses("kb", "diff", "live", "live").exit_code == 2
    assert ses("kb", "history", "3", "--subject", "user/eve").exit_code == 2
