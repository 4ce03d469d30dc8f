"""`ses layout` shows where files lie, and `ses apply` moves where new ones go, and back."""

import importlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import lov_blobs as lov
import pytest
from click.testing import CliRunner, Result
from layout_library import OFFSET, POOL, LayoutLibrary
from lustre_mount import LOV, LustreMount, layout_of, osts_of
from ses.cli import main
from ses.lustre import blob
from ses.lustre.evidence import on_lustre
from ses_client.client import ServiceClient
from ses_client.errors import SesError
from ses_client.messages.elements import Element, Inventory, KnowledgeBaseSource, MonitorSource
from ses_client.messages.requirements import Subject
from ses_client.messages.selections import Candidate, Rates, Selection
from write_corpus import DOM, LAYOUTS, MIRRORED, PFL, SEL

UNIT = Path(__file__).parents[2] / "packaging/systemd/ses-apply@.service"


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.mark.parametrize("layout", [lov.CAPTURED_INDEX, lov.CAPTURED_POOL, PFL, DOM, MIRRORED, SEL, b""])
@pytest.mark.parametrize(("pool", "ost"), [("flash", None), ("", 3)])
def test_default_is_edited_as_the_library_edits_it(
    library: LayoutLibrary, layout: bytes, pool: str, ost: int | None
) -> None:
    """A file of the library and a directory of the command get the same, whichever way it came."""
    ours = blob.with_place(layout, pool=pool, first_ost=ost)
    theirs = library.edit(layout, POOL, pool=pool) if pool else library.edit(layout, OFFSET, osts=[ost or 0])
    assert ours == theirs


@pytest.mark.parametrize("name", [name for name in LAYOUTS if name != "nothing"])
def test_every_layout_is_read_as_it_was_made(name: str) -> None:
    read = blob.read(LAYOUTS[name])
    parts = lov.read_parts(LAYOUTS[name])
    assert [
        (component.start, component.end, component.id, component.flags) for component in read.components
    ] == [(part.start, part.end, part.id, part.flags) for part in parts]


@pytest.mark.parametrize("length", range(len(PFL)))
def test_layout_cut_short_is_refused(length: int) -> None:
    with pytest.raises(blob.LayoutError):
        blob.read(PFL[:length])


def test_layout_of_a_file_and_a_directory_is_shown(lustre: LustreMount) -> None:
    os.setxattr(lustre.path, LOV, PFL)
    (lustre.path / "file").write_text("x")
    done = run("layout", lustre.path / "file")
    assert done.exit_code == 0, done.output
    (ost,) = osts_of(lustre.path / "file")
    assert f"OSTs       {ost}" in done.output
    assert "64 MiB" in done.output
    data = json.loads(run("layout", lustre.path, "--json").output)
    assert [component["pool"] for component in data["components"]] == ["fast", None, "slow"]
    assert data["components"][2]["end"] is None


def test_file_without_objects_is_reported(lustre: LustreMount) -> None:
    os.mknod(lustre.path / "node")
    assert "first written" in run("layout", lustre.path / "node").output


def test_file_that_is_not_there_or_not_on_lustre_is_reported(tmp_path: Path) -> None:
    assert run("layout", tmp_path / "nothing").exit_code == 5
    assert run("layout", tmp_path).exit_code == 5


@pytest.mark.parametrize(
    ("record", "verified"),
    [
        ({"target": "4"}, True),
        ({"target": "3"}, False),
        ({"target": "3", "elements": [{"target": "4"}, {"target": "2"}]}, True),
        ({"target": "slow"}, True),
        ({"target": "fast"}, False),
        ({"target": "gone"}, None),
    ],
)
def test_explanation_compares_the_layout_with_the_record(
    lustre: LustreMount, record: dict[str, Any], verified: bool | None
) -> None:
    lustre.trouble(3, "full")
    os.setxattr(lustre.path, LOV, lov.plain(pool="slow", count=1))
    (lustre.path / "file").write_text("x")
    pools = {"slow": (3, 4), "fast": (0, 1, 2)}
    explained = on_lustre(lustre.path / "file", record, lambda _: pools)
    assert explained == ((4,), "OST 4, pool slow", verified)


def test_name_of_a_pool_in_a_layout_is_no_evidence(lustre: LustreMount) -> None:
    os.setxattr(lustre.path, LOV, lov.plain(pool="later", count=1, offset=4))
    (lustre.path / "file").write_text("x")
    explained = on_lustre(lustre.path / "file", {"target": "later"}, lambda _: {"later": (0, 1)})
    assert explained == ((4,), "OST 4, pool later", False)


def test_explanation_says_nothing_of_other_file_systems(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert on_lustre(tmp_path / "file", {"target": "4"}) == (None, None, None)


@pytest.fixture
def chosen(
    lustre: LustreMount, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str, str | None], None]:
    """Say which element, by target and pool, the selection service would choose now."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    answer: dict[str, Any] = {}

    def choose(target: str, pool: str | None) -> None:
        answer.update(target=target, pool=pool or "")

    def elements(_: ServiceClient) -> Inventory:
        element = Element(
            id="lfs/one",
            storage_system="lfs",
            backend="lustre",
            state="active",
            mount_point=str(lustre.path),
            **answer,
        )
        return Inventory(
            elements=(element,),
            monitor=MonitorSource(reachable=True),
            knowledge_base=KnowledgeBaseSource(reachable=True),
        )

    def select(_: ServiceClient, _subject: Subject, **question: Any) -> Selection:
        assert question["storage_system"] == "lfs"
        best = Candidate(
            rank=1,
            element="lfs/one",
            distance=0.0,
            free_gb=None,
            predicted=(),
            age_seconds=None,
            basis="",
            available=Rates(read_mb_s=None, write_mb_s=None),
        )
        return Selection(decided_at=None, requirements=(), candidates=(best,), refused=(), notes=())

    monkeypatch.setattr(ServiceClient, "elements", elements)
    monkeypatch.setattr(ServiceClient, "select", select)
    return choose


def test_default_follows_the_choice_and_goes_back(
    lustre: LustreMount, chosen: Callable[[str, str | None], None]
) -> None:
    directory = lustre.path / "directory"
    directory.mkdir()
    chosen("4", None)
    done = run("apply", directory)
    assert done.exit_code == 0, done.output
    assert "no default but the file system's own" in done.output
    assert "OST 4 (lfs/one)" in done.output
    (directory / "one").write_text("x")
    chosen("0", "fast")
    assert "pool fast" in run("apply", directory).output
    (directory / "two").write_text("x")
    assert (osts_of(directory / "one"), osts_of(directory / "two")[0] in (0, 1, 2)) == ((4,), True)
    done = run("apply", directory, "--undo")
    assert done.exit_code == 0, done.output
    assert layout_of(directory) is None
    assert run("apply", directory, "--undo").exit_code == 5


def test_pool_that_lustre_would_take_for_everything_is_not_applied(
    lustre: LustreMount, chosen: Callable[[str, str | None], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module("ses.commands.apply")
    monkeypatch.setattr(module, "pools_at", lambda _: {"fast": (0, 1, 2), "empty": ()})
    for pool in ("nosuch", "empty", "lustre.fast"):
        chosen("4", pool)
        done = run("apply", lustre.path)
        assert done.exit_code != 0
        assert f"pool {pool}" in " ".join(done.output.split())
        assert layout_of(lustre.path) is None
    chosen("4", "fast")
    assert run("apply", lustre.path).exit_code == 0


def test_own_default_comes_back_byte_for_byte(
    lustre: LustreMount, chosen: Callable[[str, str | None], None]
) -> None:
    os.setxattr(lustre.path, LOV, PFL)
    before = layout_of(lustre.path)
    chosen("5", "small")
    assert run("apply", lustre.path).exit_code == 0
    now = layout_of(lustre.path)
    assert now
    assert [lov.read_plain(part.blob).pool for part in lov.read_parts(now)] == ["small", "small", "slow"]
    assert run("apply", lustre.path, "--undo").exit_code == 0
    assert layout_of(lustre.path) == before


def test_own_default_that_states_little_is_completed_by_the_root_before_and_after(
    lustre: LustreMount, chosen: Callable[[str, str | None], None]
) -> None:
    directory = lustre.path / "directory"
    directory.mkdir()
    os.setxattr(lustre.root, LOV, lov.plain(count=3, size=2 << 20))
    os.setxattr(directory, LOV, lov.plain(count=2))
    chosen("5", "fast")
    assert run("apply", directory).exit_code == 0
    (directory / "applied").touch()
    assert run("apply", directory, "--undo").exit_code == 0
    assert layout_of(directory) == lov.plain(count=2)
    (directory / "undone").touch()
    made = [lov.read_plain(layout_of(directory / name) or b"") for name in ("applied", "undone")]
    assert [(layout.size, layout.count) for layout in made] == [(2 << 20, 2)] * 2
    assert made[0].pool == "fast"


def test_first_ost_is_not_combined_with_the_pool_of_the_root(
    lustre: LustreMount, chosen: Callable[[str, str | None], None]
) -> None:
    """It may not be in that pool, and then every create in the directory would fail."""
    directory = lustre.path / "directory"
    directory.mkdir()
    os.setxattr(lustre.path, LOV, lov.plain(count=1, pool="slow"))
    chosen("5", None)
    done = run("apply", directory)
    assert done.exit_code == 1
    assert "pool slow of the root's default" in " ".join(done.output.split())
    (directory / "file").touch()


def test_default_that_somebody_else_changed_is_not_undone(
    lustre: LustreMount, chosen: Callable[[str, str | None], None]
) -> None:
    chosen("5", "small")
    assert run("apply", lustre.path).exit_code == 0
    os.setxattr(lustre.path, LOV, lov.plain(pool="slow", count=2))
    done = run("apply", lustre.path, "--undo")
    assert done.exit_code == 1
    assert "somebody else" in done.output
    layout = layout_of(lustre.path)
    assert layout
    assert lov.read_plain(layout).pool == "slow"


def test_directory_the_site_does_not_describe_is_reported(
    tmp_path: Path, chosen: Callable[[str, str | None], None]
) -> None:
    chosen("5", "small")
    done = run("apply", tmp_path)
    assert done.exit_code == 5
    assert "no Lustre file system" in done.output


def pool_of(directory: Path) -> str | None:
    layout = layout_of(directory)
    return lov.read_plain(layout).pool if layout else None


@pytest.fixture
def between_looks(monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[float]]:
    """Say what happens in each pause of --watch; Ctrl-C is pressed in the one after the last."""

    def script(*steps: Callable[[], object]) -> list[float]:
        pauses: list[float] = []
        waiting = iter(steps)

        def pause(seconds: float) -> None:
            pauses.append(seconds)
            step = next(waiting, None)
            if step is None:
                raise KeyboardInterrupt
            step()

        module = importlib.import_module("ses.commands.apply")
        monkeypatch.setattr(module, "time", SimpleNamespace(sleep=pause))
        return pauses

    return script


def test_watch_follows_the_choice_until_ctrl_c_gives_the_default_back(
    lustre: LustreMount, chosen: Callable[[str, str | None], None], between_looks: Callable[..., list[float]]
) -> None:
    directory = lustre.path / "directory"
    directory.mkdir()
    seen: list[str | None] = []

    def choose(target: str, pool: str) -> Callable[[], None]:
        def step() -> None:
            seen.append(pool_of(directory))
            chosen(target, pool)

        return step

    chosen("5", "small")
    pauses = between_looks(choose("0", "fast"), choose("0", "fast"), choose("3", "slow"), lambda: None)
    done = run("apply", directory, "--watch", "--every", "7")
    assert done.exit_code == 0, done.output
    assert seen == ["small", "fast", "fast"]
    assert pauses == [7.0] * 5
    lines = [line for line in done.output.splitlines() if line.startswith(str(directory))]
    assert [line.rpartition(": ")[2] for line in lines] == [
        "pool small (lfs/one)", "pool fast (lfs/one)", "pool slow (lfs/one)", "as before",
    ]  # fmt: skip
    assert layout_of(directory) is None


def test_watch_keeps_the_default_while_no_service_says_another(
    lustre: LustreMount,
    chosen: Callable[[str, str | None], None],
    between_looks: Callable[..., list[float]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    directory = lustre.path / "directory"
    directory.mkdir()
    seen: list[str | None] = []

    def lose() -> None:
        def nobody(_: ServiceClient) -> Inventory:
            raise SesError("nobody listens")

        monkeypatch.setattr(ServiceClient, "elements", nobody)

    def find() -> None:
        seen.append(pool_of(directory))
        monkeypatch.setattr(ServiceClient, "elements", elements)

    chosen("5", "small")
    elements = ServiceClient.elements
    between_looks(lose, find, lambda: chosen("0", "fast"), lambda: seen.append(pool_of(directory)))
    done = run("apply", directory, "--watch")
    assert done.exit_code == 0, done.output
    assert done.output.count("not looked at: nobody listens") == 1
    assert seen == ["small", "fast"]
    assert layout_of(directory) is None


def test_watch_that_was_killed_goes_on_where_it_was(
    lustre: LustreMount, chosen: Callable[[str, str | None], None], between_looks: Callable[..., list[float]]
) -> None:
    """What was there before all of it comes back, not what the first one had set."""
    os.setxattr(lustre.path, LOV, PFL)
    before = layout_of(lustre.path)
    chosen("5", "small")
    assert run("apply", lustre.path).exit_code == 0  # as one that is killed leaves it
    chosen("0", "fast")
    between_looks()
    assert run("apply", lustre.path, "--watch").exit_code == 0
    assert layout_of(lustre.path) == before


def test_unit_that_keeps_a_directory_fresh_ends_with_what_ctrl_c_does() -> None:
    text = UNIT.read_text()
    settings = dict(
        line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#")
    )
    program, *arguments = settings["ExecStart"].split()
    assert Path(program).name == "ses"
    assert arguments == ["apply", "%f", "--watch", "$SES_APPLY_OPTIONS"]
    assert settings["KillSignal"] == "SIGINT"
    state = Path("/var/lib") / settings["StateDirectory"]
    assert state == Path("/var/lib/qstorman/applied"), "where what was there before is kept"
    assert settings["Environment"].endswith(" XDG_STATE_HOME=/var/lib")
