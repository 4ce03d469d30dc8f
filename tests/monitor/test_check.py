"""`smed-monitor check`: one look at the settings and at every target."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from smed_monitor.cli import main
from smed_monitor.http.schemas import ObservationsOut


@pytest.fixture
def check(tmp_path: Path, exporter: Any) -> Callable[..., Result]:
    """Run check on elements b1 and b2, or on the given settings."""

    def run(*options: str, text: str | None = None) -> Result:
        path = tmp_path / "smed.toml"
        path.write_text(
            text
            or f'[[target]]\nname = "n1"\ncollector = "node_exporter"\nurl = "{exporter.url}"\n'
            + "timeout_seconds = 10\n"
            + "".join(
                f'[[element]]\nid = "union/{name}"\ntarget = "n1"\nmount_point = "/{root}/qstorman/{name}"\n'
                for name, root in (("b1", "srv"), ("b3", "mnt"))
            )
        )
        return CliRunner().invoke(main, ["check", "--config", str(path), *options])

    return run


def test_all_is_well(check: Any, exporter: Any, answer_whole: Any, page: Any) -> None:
    exporter.answer = answer_whole(page("before"))
    result = check()
    assert result.exit_code == 0
    head, first, second = result.stdout.splitlines()
    assert head.split() == ["element", "state", "device", "free", "size", "access", "detail"]
    assert first.split() == ["union/b1", "ok", "loop0", "0.053", "GB", "0.057", "GB", "read-write"]
    assert second.split()[:3] == ["union/b3", "ok", "loop2"]


def test_a_missing_element_is_told_with_its_cure(
    check: Any, exporter: Any, answer_whole: Any, page: Any
) -> None:
    exporter.answer = answer_whole(page("default-flags"))
    result = check()
    assert result.exit_code == 1
    assert "union/b3  missing" in result.stdout
    assert "--collector.filesystem.mount-points-exclude=" in result.stdout


def test_what_an_element_takes_is_told(check: Any, exporter: Any, answer_whole: Any, tmp_path: Path) -> None:
    flags = {"OST0000": "", "OST0002": "degraded", "OST0003": "no_create"}
    files = tmp_path / "server"
    for name, flag in flags.items():
        ost = files / "proc/fs/lustre/obdfilter" / f"fs-{name}"
        ost.mkdir(parents=True)
        (ost / "kbytestotal").write_text("1000\n")
        for each in ("degraded", "no_create"):
            (ost / each).write_text("1\n" if each == flag else "0\n")
    settings = f'[[target]]\nname = "oss"\ncollector = "lustre_files"\nroot = "{files}"\n' + "".join(
        f'[[element]]\nid = "fs/{name}"\ntarget = "oss"\nost = "fs-{name}"\n' for name in flags
    )
    shown = check(text=settings).stdout
    assert "fs/OST0002  ok" in shown
    access = {line.split()[0]: line for line in shown.splitlines()[1:]}
    assert "degraded" in access["fs/OST0002"]
    assert "no new files" in access["fs/OST0003"]
    assert "read-write" in access["fs/OST0000"]


def test_json_is_what_the_contract_answers(check: Any, exporter: Any, answer_whole: Any, page: Any) -> None:
    exporter.answer = answer_whole(page("before"))
    answer = ObservationsOut.model_validate_json(check("--json").stdout)
    assert [(o.element, o.state) for o in answer.observations] == [("union/b1", "ok"), ("union/b3", "ok")]


def test_an_exporter_that_is_down_is_named(check: Any, exporter: Any) -> None:
    exporter.close()
    result = check("--json")
    assert result.exit_code == 1
    for observation in json.loads(result.stdout)["observations"]:
        assert observation["detail"] == f"{exporter.url} cannot be reached: Connection refused"


def test_wrong_settings_are_told_without_a_traceback(check: Any, tmp_path: Path) -> None:
    result = check(text="intervall = 1\n")
    assert result.exit_code == 2
    assert f"{tmp_path / 'smed.toml'}: intervall: is not a setting of the monitor" in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("listen", ["8631", "localhost", ":8631", "127.0.0.1:http", "127.0.0.1:99999"])
def test_a_wrong_listen_address_is_refused_before_anything_starts(listen: str, tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["serve", "--config", str(tmp_path / "none"), "--listen", listen])
    assert result.exit_code == 2
    assert "is not HOST:PORT" in result.stderr


def test_an_interval_that_is_no_number_is_refused(tmp_path: Path) -> None:
    options = ["--root", str(tmp_path), "--output", str(tmp_path / "ses.prom"), "--interval", "nan"]
    result = CliRunner().invoke(main, ["textfile", *options])
    assert result.exit_code == 2
    assert "'nan' is no number" in result.stderr
