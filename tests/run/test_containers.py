"""Programs in containers have their files placed by a supervisor outside, and cannot tell."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from fake_agent import CREATED
from mergerfs_union import NOBODY, Union
from patience import wait_until
from ran import ran
from supervisors import wait_for_end

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="mounting in namespaces needs root")
BUSYBOX = "/bin/busybox"


def supervised(
    union: Union, ses_run: Path, *command: str | Path, **options: object
) -> subprocess.CompletedProcess[str]:
    union.agent.choose = lambda _: 2
    done = union.run(ses_run, "--supervise", *command, library=False, **options)  # type: ignore[arg-type]
    wait_for_end(union)
    return done


def in_namespace(script: str, union: Union) -> tuple[str, ...]:
    """A shell whose mount of a directory of the union is its working directory."""
    (union.path / "inside").mkdir(exist_ok=True)
    (union.path / "inside").chmod(0o777)
    mount = f"mount --bind {union.path}/inside /mnt; cd /mnt; umask 027"
    return ("unshare", "--mount", "sh", "-ec", f"{mount}; {script}")


def traits(path: Path) -> tuple[int, int, int, int]:
    status = path.stat()
    return status.st_mode, status.st_uid, status.st_gid, status.st_nlink


@pytest.mark.parametrize("name", ["f", "/mnt/f", "deep/../f"])
def test_file_of_a_container_lies_where_the_agent_says(union: Union, ses_run: Path, name: str) -> None:
    script = f"mkdir -p deep; echo text > {name}; cat f"
    done = supervised(union, ses_run, *in_namespace(script, union))
    assert done.stdout == "text\n"
    assert union.copies(union.path / "inside/f") == [2]
    assert [report.outcome for report in union.agent.reports] == [CREATED]
    assert traits(union.path / "inside/f") == (0o100640, 0, 0, 1)


def test_descriptor_has_the_name_that_the_container_knows(union: Union, ses_run: Path) -> None:
    script = "readlink /proc/self/fd/7 7> f; exec 7>> /mnt/g; flock 7; stat -Lc %n,%s /proc/self/fd/7"
    done = supervised(union, ses_run, *in_namespace(script, union))
    assert done.stdout.splitlines()[0] == "/mnt/f"
    assert len(union.agent.reports) == 2


def test_mount_that_is_read_only_there_stays_so(union: Union, ses_run: Path) -> None:
    script = "mount -o remount,bind,ro /mnt; cd /mnt; ! echo text > f"
    done = supervised(union, ses_run, *in_namespace(script, union))
    assert "Read-only file system" in done.stderr
    assert union.copies(union.path / "inside/f") == []


def test_rules_name_paths_of_the_node(union: Union, ses_run: Path) -> None:
    exclude = f"{union.path}/inside/no*"
    supervised(union, ses_run, *in_namespace("> no; > yes", union), SES_EXCLUDE=exclude)
    assert union.copies(union.path / "inside/yes") == [2]
    assert len(union.agent.reports) == 1


def test_file_system_that_the_node_sees_in_parts_only_is_left_alone(union: Union, ses_run: Path) -> None:
    (union.path / "inside").mkdir()
    inner = "mount --bind /mnt /media; cd /media; > f"
    union.run(
        *("unshare", "--mount", "sh", "-ec"),
        f'mount --bind {union.path}/inside /mnt; cd /; umount -l {union.path}; exec "$@"', "sh",
        *(ses_run, "--supervise", "unshare", "--mount", "sh", "-ec", inner),
        library=False,
    )  # fmt: skip
    wait_for_end(union)
    assert (union.path / "inside/f").exists()
    assert union.agent.reports == []


@pytest.mark.parametrize("capability", ["dac_override", "fowner", "chown"])
def test_root_with_fewer_rights_gets_no_more(union: Union, ses_run: Path, capability: str) -> None:
    """As in containers of Docker and Podman, which run as root."""
    (union.path / "inside").mkdir()
    (union.path / "inside/shut").mkdir(mode=0o700)
    os.chown(union.path / "inside/shut", NOBODY, NOBODY)
    for branch in union.branches:  # the union makes them on one branch only
        with suppress(FileNotFoundError):
            os.chown(branch / "inside/shut", NOBODY, NOBODY)
    reduced = f"capsh --drop=cap_{capability} -- -c 'echo 1 > shut/f; echo 2 > open'"
    done = supervised(union, ses_run, *in_namespace(f"{reduced} || true", union))
    denied = capability == "dac_override"
    assert ("Permission denied" in done.stderr) == denied, done.stderr
    assert union.copies(union.path / "inside/shut/f") == ([] if denied else [2])
    assert union.copies(union.path / "inside/open") == [2]


def test_root_of_a_user_namespace_is_the_user(union: Union, ses_run: Path) -> None:
    """As in containers that people start without rights."""
    script = f"mount --bind {union.path}/inside /mnt; cd /mnt; echo text > f; id -u; stat -c %u f"
    (union.path / "inside").mkdir()
    (union.path / "inside").chmod(0o777)
    apart = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", script)
    union.agent.choose = lambda _: 2
    as_nobody = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
    plain = subprocess.run(apart, capture_output=True, text=True, check=False, **as_nobody)  # type: ignore[call-overload]
    if plain.returncode:
        pytest.skip(f"no user namespaces here: {plain.stderr}")
    (union.path / "inside/f").unlink()
    done = subprocess.run(
        [ses_run, "--supervise", *apart], env=union.environment(library=False), cwd="/",
        capture_output=True, text=True, check=False, **as_nobody,
    )  # type: ignore[call-overload] # fmt: skip
    wait_for_end(union)
    assert (done.stdout, done.stderr) == (plain.stdout, "")
    assert union.copies(union.path / "inside/f") == [2]
    assert traits(union.path / "inside/f")[1:3] == (NOBODY, NOBODY)


def test_root_mapped_to_root_has_no_rights_over_others(union: Union, ses_run: Path) -> None:
    (union.path / "inside/shut").mkdir(parents=True)
    for directory in (union.path, *union.branches):
        with suppress(FileNotFoundError):
            os.chown(directory / "inside/shut", NOBODY, NOBODY)
    script = f"mount --bind {union.path}/inside /mnt; cd /mnt; echo 1 > open; ! echo 2 > shut/f"
    apart = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", script)
    done = supervised(union, ses_run, *apart)
    assert "Permission denied" in done.stderr
    assert union.copies(union.path / "inside/shut/f") == []
    assert union.copies(union.path / "inside/open") == [2]


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """The root of a container: one static program."""
    root = tmp_path / "image"
    for part in ("bin", "data", "proc", "sys", "dev", "etc", "tmp"):
        (root / part).mkdir(parents=True)
    shutil.copy(BUSYBOX, root / "bin/busybox")
    for name in ("sh", "cat", "grep", "id"):
        (root / "bin" / name).symlink_to("busybox")
    return root


@pytest.fixture
def podman() -> Iterator[list[str]]:
    """Podman with a storage of its own, and the arguments up to those of a container."""
    with tempfile.TemporaryDirectory(prefix="podman-") as store:  # it wants a short path
        yield [
            "podman", "--root", f"{store}/root", "--runroot", f"{store}/run", "--storage-driver", "vfs",
            "--cgroup-manager", "cgroupfs", "--events-backend", "none", "--runtime", "runc", "run", "--rm",
            "--network", "none", "--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1000:1000",
        ]  # fmt: skip


IN_CONTAINER = "cd /data; grep Seccomp: /proc/self/status; echo text > f; cat f; id -u"


def test_podmans_container_is_supervised_from_outside(
    union: Union, ses_run: Path, podman: list[str], image: Path
) -> None:
    (union.path / "inside").mkdir()
    where = ["-v", f"{union.path}/inside:/data", "--rootfs", str(image), "/bin/sh", "-ec", IN_CONTAINER]
    done = supervised(union, ses_run, *podman, *where)
    assert done.stdout.split() == ["Seccomp:", "2", "text", "0"]
    assert union.copies(union.path / "inside/f") == [2]
    assert [report.outcome for report in union.agent.reports] == [CREATED]


@pytest.fixture
def docker(union: Union, ses_run: Path, image: Path, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Debian's engine with the runtime of the page, in a network namespace of its own; runs its client."""
    runtime = tmp_path / "ses-runc"
    runtime.write_text(f'#!/bin/sh\nexec {ses_run} --supervise runc "$@"\n')
    runtime.chmod(0o755)
    with tempfile.TemporaryDirectory(prefix="docker-") as work:
        host = f"unix://{work}/socket"
        command = [
            "unshare", "--net", "/usr/sbin/dockerd", "--data-root", f"{work}/data",
            "--exec-root", f"{work}/exec",
            "--pidfile", f"{work}/pid", "--host", host, "--storage-driver", "vfs", "--bridge", "none",
            "--iptables=false", "--default-ulimit", "nofile=1024:1024", "--add-runtime", f"ses={runtime}",
        ]  # fmt: skip
        environment = {**union.environment(library=False), "PATH": os.environ["PATH"]}

        def run(*arguments: str, check: bool = True) -> str:
            done = ran(["/usr/bin/docker", "--host", host, *arguments], code=None)
            assert not check or done.returncode == 0, (done.stderr, log.read_text()[-2000:])
            return done.stdout

        log = tmp_path / "dockerd.log"
        with log.open("w") as output:
            engine = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        try:
            wait_until(lambda: engine.poll() is not None or "Server Version" in run("info", check=False))
            assert engine.poll() is None, log.read_text()[-2000:]
            subprocess.run(["tar", "-cf", tmp_path / "image.tar", "-C", image, "."], check=True)
            run("import", str(tmp_path / "image.tar"), "small")
            yield run
        finally:
            engine.terminate()
            engine.wait(60)
            for left in Path(work).glob("exec/netns/*"):
                subprocess.run(["umount", left], check=False)


def test_dockers_container_is_supervised_by_a_runtime_of_two_lines(
    union: Union, docker: Callable[..., str]
) -> None:
    union.agent.choose = lambda _: 2
    (union.path / "inside").mkdir()
    where = ("--network", "none", "-v", f"{union.path}/inside:/data", "small", "/bin/sh", "-ec", IN_CONTAINER)
    out = docker("run", "--rm", "--runtime", "ses", *where)
    wait_for_end(union)
    assert out.split() == ["Seccomp:", "2", "text", "0"]
    assert union.copies(union.path / "inside/f") == [2]
    assert [report.outcome for report in union.agent.reports] == [CREATED]


def empty_root(root: Path) -> Path:
    """The root of a container that gets this node's programs."""
    root.mkdir()
    for name in ("bin", "lib", "lib64", "sbin"):
        (root / name).symlink_to(f"usr/{name}")
    for part in ("usr", "proc", "sys", "dev", "etc", "tmp"):
        (root / part).mkdir()
    return root


def with_union(union: Union, ses_run: Path) -> list[str]:
    """What a container is started with: the programs, the union, and what the library needs."""
    seen = [union.path, *union.branches, union.socket, ses_run.parents[1]]
    mounts = [word for path in seen for word in ("-v", f"{path}:{path}")]
    agent = ("-e", f"SES_AGENT_SOCKET={union.socket}", "-e", "SES_SYNC_MS=20000")
    return ["-v", "/usr:/usr:ro", *mounts, *agent, "-w", str(union.path)]


def in_image(union: Union, ses_run: Path, podman: list[str], root: Path, *options: str) -> list[str]:
    return [*podman, *with_union(union, ses_run), *options, "--rootfs", str(empty_root(root))]


SEVERAL = """
echo text > f; cat f; cp f g; sh -c '> h'
env -u SES_FILTERS sh -c '> i'; setpriv --no-new-privs sh -c '> j'; SES_FILTERS=${SES_FILTERS}1 sh -c '> k'
unshare --user --map-root-user sh -c '> l'
"""


def test_library_works_in_a_container_under_podmans_own_filter(
    union: Union, ses_run: Path, podman: list[str], tmp_path: Path
) -> None:
    union.agent.choose = lambda _: 2
    begin = in_image(union, ses_run, podman, tmp_path / "root")
    done = union.run(*begin, ses_run, "/bin/sh", "-ec", SEVERAL, library=False)
    assert (done.stdout, done.stderr) == ("text\n", "")
    assert [union.copies(union.path / name) == [2] for name in "fgh"] == [True] * 3
    assert len(union.agent.reports) == 3, "a filter of somebody else: the original call"
    assert all((union.path / name).exists() for name in "ijkl")


def test_a_filter_that_kills_is_found_before_it_can(
    union: Union, ses_run: Path, podman: list[str], tmp_path: Path
) -> None:
    rules = [{"names": ["shmget", "linkat"], "action": "SCMP_ACT_KILL_PROCESS"}]
    profile = tmp_path / "kills.json"
    profile.write_text(json.dumps({"defaultAction": "SCMP_ACT_ALLOW", "syscalls": rules}))
    begin = in_image(union, ses_run, podman, tmp_path / "root", "--security-opt", f"seccomp={profile}")
    done = union.run(*begin, ses_run, "/bin/sh", "-ec", "echo text > f; cat f", library=False)
    assert done.stdout == "text\n"
    assert "started under a seccomp filter" in done.stderr
    assert union.agent.reports == []


def test_who_could_add_a_filter_unseen_is_not_trusted(
    union: Union, ses_run: Path, podman: list[str], tmp_path: Path
) -> None:
    begin = in_image(union, ses_run, podman, tmp_path / "root", "--cap-add", "SYS_ADMIN")
    done = union.run(*begin, ses_run, "/bin/sh", "-ec", "> f", library=False)
    assert "started under a seccomp filter" in done.stderr
    assert union.agent.reports == []


def test_library_works_in_a_container_under_dockers_own_filter(
    union: Union, ses_run: Path, docker: Callable[..., str], tmp_path: Path
) -> None:
    union.agent.choose = lambda _: 2
    root = empty_root(tmp_path / "bare")
    subprocess.run(["tar", "-cf", tmp_path / "bare.tar", "-C", root, "."], check=True)
    docker("import", str(tmp_path / "bare.tar"), "bare")
    begin = ["run", "--rm", "--network", "none", *with_union(union, ses_run), "bare"]
    assert (
        docker(*begin, str(ses_run), "/bin/sh", "-ec", "grep Seccomp: /proc/self/status; > f").split()[1]
        == "2"
    )
    union.agent.settle()
    assert union.copies(union.path / "f") == [2]
    assert [report.outcome for report in union.agent.reports] == [CREATED]
