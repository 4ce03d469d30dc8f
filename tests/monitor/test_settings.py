"""The settings file is checked whole, and a fault names the file and the key."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
from smed_monitor.collectors.registry import COLLECTORS
from smed_monitor.config.settings import ElementSettings, Settings, Target, load
from smed_monitor.core.errors import SettingsError

TARGET = '[[target]]\nname = "n1"\ncollector = "node_exporter"\nurl = "http://127.0.0.1:9100/metrics"\n'
ELEMENT = '[[element]]\nid = "union/b1"\ntarget = "n1"\nmount_point = "/srv/b1/"\n'


def read(tmp_path: Path, text: str) -> Settings:
    path = tmp_path / "smed.toml"
    path.write_text(text)
    return load(path, collectors=COLLECTORS)


def test_a_small_file_is_enough_and_the_rest_has_defaults(tmp_path: Path) -> None:
    settings = read(tmp_path, TARGET + ELEMENT)
    assert (settings.interval_seconds, settings.stale_after_seconds) == (1.0, 3.0)
    assert (settings.current_window_seconds, settings.average_window_seconds) == (2.0, 60.0)
    assert settings.targets[0].timeout_seconds == 1.0
    assert settings.elements[0].mount_point == "/srv/b1"


def test_whole_numbers_serve_as_seconds(tmp_path: Path) -> None:
    assert (
        read(tmp_path, "interval_seconds = 2\nstale_after_seconds = 10\n" + TARGET + ELEMENT).interval_seconds
        == 2.0
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("interval_seconds = 0\n" + TARGET + ELEMENT, "interval_seconds: should be greater than 0"),
        ('interval_seconds = "1"\n' + TARGET + ELEMENT, "interval_seconds: should be a valid number"),
        ("interval_seconds = inf\n" + TARGET + ELEMENT, "interval_seconds: should be"),
        ("intervall = 1.0\n" + TARGET + ELEMENT, "intervall: is not a setting of the monitor"),
        ("interval_second = 1.0\n" + TARGET + ELEMENT, "monitor; did you mean interval_seconds?"),
        (
            "[[targets]]\nname = 'n1'\n" + ELEMENT,
            "targets: is not a setting of the monitor; did you mean target?",
        ),
        (
            TARGET + "timeout_second = 2\n" + ELEMENT,
            "(n1), timeout_second: is not a setting of the monitor; did you mean timeout_seconds?",
        ),
        (
            TARGET + ELEMENT + "[history]\npoint = 5\n",
            "history.point: is not a setting of the monitor; did you mean points?",
        ),
        ("stale_after_seconds = 1.5\n" + TARGET + ELEMENT, "stale_after_seconds must be at least twice"),
        ("average_window_seconds = 1.0\n" + TARGET + ELEMENT, "average_window_seconds must not be shorter"),
        (TARGET, "element: is required, unless there is a [[rule]]"),
        (ELEMENT, "target: is required"),
        ("element = []\n" + TARGET, "element: "),
        ("target = 5\n" + ELEMENT, "target: "),
        ("element = [3]\n" + TARGET, "[[element]] number 1: "),
        (
            TARGET + ELEMENT.replace("n1", "n9"),
            "[[element]] number 1 (union/b1), target: no [[target]] is called 'n9'",
        ),
        (TARGET + ELEMENT.replace("union/b1", "b1"), "[[element]] number 1 (b1), id: "),
        (TARGET + ELEMENT + ELEMENT, "[[element]] number 2 (union/b1), id: is used by [[element]] number 1"),
        (TARGET + TARGET + ELEMENT, "[[target]] number 2 (n1), name: is used by an earlier [[target]]"),
        (TARGET + ELEMENT.replace('"/srv/b1/"', '"srv/b1"'), "mount_point: must be an absolute path"),
        (TARGET + '[[element]]\nid = "u/b"\ntarget = "n1"\n', "(u/b): needs mount_point or device"),
        (
            TARGET.replace("node_exporter", "snmp") + ELEMENT,
            "collector: no collector is called 'snmp'; known: directories, lustre_files",
        ),
        (TARGET.replace("http://", "") + ELEMENT, "url: must be an address like http://host:9100/metrics"),
        (TARGET.replace("//", "//me:secret@") + ELEMENT, "url: must not hold a user name or password"),
        (TARGET.replace(":9100", ":port") + ELEMENT, "(n1), url: must be an address like"),
        (
            TARGET + "timeout_seconds = 99\n" + ELEMENT,
            "(n1), timeout_seconds: should be less than or equal to 30",
        ),
        (TARGET + "since = 2026-01-01\n" + ELEMENT, "(n1), since: is not a setting of the monitor"),
        (
            TARGET.replace("http:", "https:") + 'ca_file = "/nowhere/ca.pem"\n' + ELEMENT,
            "(n1), ca_file: /nowhere/ca.pem cannot be read: No such file or directory",
        ),
        (
            TARGET + ELEMENT + '[[quota]]\nsystem = "u"\nurl = "https://n1/metrics"\nca_file = "/dev/null"\n',
            "[[quota]] number 1 (u), ca_file: /dev/null holds no certificate (PEM)",
        ),
        ("[[target]\n", "is not TOML"),
    ],
)
def test_a_fault_names_the_file_and_the_key(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(SettingsError) as failure:
        read(tmp_path, text)
    assert str(tmp_path / "smed.toml") in str(failure.value)
    assert complaint in str(failure.value)


def test_all_faults_are_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(SettingsError) as failure:
        read(tmp_path, TARGET + ELEMENT.replace("n1", "x") + ELEMENT.replace("n1", "y"))
    assert "'x'" in str(failure.value)
    assert "'y'" in str(failure.value)


def test_a_file_that_is_not_there_or_not_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"There is no file .*smed\.toml"):
        load(tmp_path / "smed.toml", collectors=COLLECTORS)
    (tmp_path / "smed.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match=r"smed\.toml is UTF-16 text"):
        load(tmp_path / "smed.toml", collectors=COLLECTORS)


def test_a_thousand_elements_keep_their_order(tmp_path: Path) -> None:
    elements = "".join(
        f'[[element]]\nid = "big/e{i}"\ntarget = "n1"\ndevice = "sd{i}"\n' for i in range(1000)
    )
    settings = read(tmp_path, TARGET + elements)
    assert [element.id for element in settings.elements] == [f"big/e{i}" for i in range(1000)]


EXAMPLE = Path(__file__).parents[2] / "smed-monitor" / "smed.example.toml"


def test_the_example_names_every_setting_with_its_default() -> None:
    settings = load(EXAMPLE, collectors=COLLECTORS)
    tree = tomllib.loads(EXAMPLE.read_text())
    off = set(re.findall(r"^# ?(\w+) = ", EXAMPLE.read_text(), re.MULTILINE))  # shown, but off by default
    for model, keys in (
        (Settings, set(tree)),
        (Target, set(tree["target"][0])),
        (ElementSettings, {key for entry in tree["element"] for key in entry}),
    ):
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        assert keys <= set(fields)
        assert set(fields) - keys <= off, "the example does not show them"
    defaults = Settings(target=settings.targets, element=settings.elements)
    assert settings == defaults
    target = Target(**{key: tree["target"][0][key] for key in ("name", "collector", "url")})
    assert settings.targets == (target,)
