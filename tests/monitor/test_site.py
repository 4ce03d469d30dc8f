"""The description of the site says which elements are seen where; the settings go before."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from invoked import invoked
from smed_monitor.cli import main
from smed_monitor.collectors.registry import COLLECTORS
from smed_monitor.config.settings import ElementSettings, Target
from smed_monitor.config.site import described
from smed_monitor.core.errors import SettingsError

EXAMPLES = Path(__file__).parents[2] / "ontology" / "examples"
PREFIX = (
    "@prefix qsm: <https://w3id.org/qstorman/ontology#> .\n@prefix : <https://w3id.org/qstorman/site/> .\n"
)
UNION = PREFIX + (
    ':u a qsm:MergerfsUnion ; qsm:name "union" {of_system} .\n'
    ':n a qsm:Server ; qsm:name "node" {of_server} .\n'
    ':b a qsm:Branch ; qsm:name "b1" ; qsm:elementOf :u ; qsm:servedBy :n ; qsm:target "/srv/b1" {own} .\n'
)


def exporters(*names: str, collector: str = "node_exporter") -> list[Target]:
    return [Target(name=name, collector=collector, url=f"http://{name}:9100/metrics") for name in names]


@pytest.fixture
def elements_of(tmp_path: Path) -> Any:
    """The elements of a union's description with these words, seen by exporters of these names."""

    def of(*targets: str, **words: str) -> tuple[ElementSettings, ...]:
        path = tmp_path / "site.ttl"
        filled = {name: words.get(name, "") for name in ("of_system", "of_server", "own")}
        path.write_text(UNION.format(**{name: f"; {text}" if text else "" for name, text in filled.items()}))
        return described(path, exporters(*targets), COLLECTORS)

    return of


def test_osts_of_the_example_are_looked_for_at_every_server_under_lustres_names() -> None:
    targets = exporters("web1", "oss1", "oss2", collector="lustre_gsi")
    elements = described(EXAMPLES / "lustre-site.ttl", targets, COLLECTORS)
    assert [(e.id, e.ost) for e in elements] == [
        (f"lfs01/OST000{number}", f"lfs01-OST000{number}") for number in range(4)
    ]
    assert {e.targets for e in elements} == {("oss1", "oss2")}


def test_a_branch_is_looked_for_by_its_directory(elements_of: Any) -> None:
    (element,) = elements_of("n1", own='qsm:observedAt "n1"')
    assert (element.id, element.target, element.mount_point) == ("union/b1", "n1", "/srv/b1")


def test_the_most_particular_statement_counts(elements_of: Any) -> None:
    stated = {"of_system": 'qsm:observedAt "n1"'}
    assert elements_of("n1", "n2", "n3", **stated)[0].targets == ("n1",)
    stated["of_server"] = 'qsm:observedAt "n2"'
    assert elements_of("n1", "n2", "n3", **stated)[0].targets == ("n2",)
    stated["own"] = 'qsm:observedAt "n3", "n1"'
    assert elements_of("n1", "n2", "n3", **stated)[0].targets == ("n1", "n3")


def test_a_system_may_say_what_its_elements_are_called(elements_of: Any) -> None:
    at = {"of_server": 'qsm:observedAt "n*"'}
    (element,) = elements_of("n1", **at, of_system='qsm:observedAs "/data{target}/{name}"')
    assert element.mount_point == "/data/srv/b1/b1"
    (element,) = elements_of(
        "n1", **at, of_system='qsm:observedAs "/data/{name}"', own='qsm:observedAs "sdb"'
    )
    assert (element.mount_point, element.device) == (None, "sdb")


def test_an_element_that_is_observed_nowhere_is_left_out(elements_of: Any) -> None:
    assert elements_of("n1") == ()


@pytest.mark.parametrize("path", ["/srv/union", "/srv/b1"])
def test_where_nothing_is_stated_the_paths_of_a_target_show_an_element(tmp_path: Path, path: str) -> None:
    """As of what ses discover wrote."""
    words = {"of_system": '; qsm:mountPoint "/srv/union"', "of_server": "", "own": ""}
    (site := tmp_path / "site.ttl").write_text(UNION.format(**words))
    targets = [
        Target(name="other", collector="statvfs", paths=("/srv",)),
        Target(name="here", collector="mergerfs", paths=("/srv/other", path)),
    ]
    (element,) = described(site, targets, COLLECTORS)
    assert (element.targets, element.mount_point) == (("here",), "/srv/b1")


def test_the_space_of_a_lustre_client_is_that_of_no_ost(tmp_path: Path) -> None:
    words = {"of_system": '; qsm:mountPoint "/lfs"', "of_server": "", "own": ""}
    text = UNION.format(**words).replace("Branch", "ObjectStorageTarget").replace("/srv/b1", "0")
    (site := tmp_path / "site.ttl").write_text(text.replace("MergerfsUnion", "LustreFileSystem"))
    client = Target(name="client", collector="statvfs", paths=("/lfs", "/home"))
    assert described(site, [client], COLLECTORS) == ()


def test_a_target_the_settings_do_not_have_is_reported(elements_of: Any) -> None:
    with pytest.raises(SettingsError, match=r"union/b1: no \[\[target\]\] is called n9; known: n1, n2"):
        elements_of("n1", "n2", own='qsm:observedAt "n9"')


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("this is no Turtle", "line 1: not Turtle: "),
        (PREFIX + f":a qsm:name {'( ' * 2000}{') ' * 2000}.", "lists or blank nodes stand too deep"),
        (
            PREFIX + ':f qsm:name "fs" ; qsm:observedAt "n1" .\n'
            ':o a qsm:ObjectStorageTarget ; qsm:name "o" ; qsm:elementOf :f ; qsm:target "flash" .\n',
            "fs/o: qsm:target 'flash' is not the index of an OST",
        ),
        (
            PREFIX + ':f qsm:name "fs" ; qsm:observedAt "n1" .\n'
            ':o a qsm:Branch ; qsm:name "a b" ; qsm:elementOf :f ; qsm:target "/o" .\n',
            "fs/a b: ",
        ),
    ],
)
def test_faults_name_the_file_and_the_element(tmp_path: Path, text: str, fault: str) -> None:
    path = tmp_path / "site.ttl"
    path.write_text(text)
    with pytest.raises(SettingsError) as answer:
        described(path, exporters("n1"), COLLECTORS)
    assert str(answer.value).startswith(f"{path}: ")
    assert fault in str(answer.value)


def test_a_description_that_is_not_there_is_reported(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="There is no file"):
        described(tmp_path / "site.ttl", exporters("n1"), COLLECTORS)


def test_the_command_looks_for_what_the_site_describes_and_the_settings_go_before(
    tmp_path: Path, exporter: Any, answer_whole: Any, page: Any
) -> None:
    exporter.answer = answer_whole(page("before"))
    config, site = tmp_path / "smed.toml", tmp_path / "site.ttl"
    target = f'[[target]]\nname = "n1"\ncollector = "node_exporter"\nurl = "{exporter.url}"\n'
    target += "timeout_seconds = 10\n"
    config.write_text(target)
    site.write_text(
        UNION.format(
            of_system='; qsm:observedAs "/srv/qstorman/{name}"', of_server="", own='; qsm:observedAt "*"'
        )
    )
    answer = invoked(main, ["check", "--config", str(config), "--site", str(site)])
    assert answer.output.splitlines()[1].split()[:3] == ["union/b1", "ok", "loop0"]
    config.write_text(
        target + '[[element]]\nid = "union/b1"\ntarget = "n1"\nmount_point = "/mnt/qstorman/b3"\n'
    )
    answer = CliRunner().invoke(main, ["check", "--config", str(config), "--site", str(site)])
    assert answer.output.splitlines()[1].split()[:3] == ["union/b1", "ok", "loop2"]
    assert len(answer.output.splitlines()) == 2


def test_a_description_without_anything_to_observe_is_refused(tmp_path: Path) -> None:
    config = tmp_path / "smed.toml"
    config.write_text('[[target]]\nname = "n1"\ncollector = "node_exporter"\nurl = "http://n1:1/"\n')
    answer = invoked(
        main, ["check", "--config", str(config), "--site", str(EXAMPLES / "union-site.ttl")], code=2
    )
    assert "element: is required" in answer.output
