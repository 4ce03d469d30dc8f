"""What is asked for at the submission is in the environment of every rank, and nothing there is lost."""

from cluster import NODES, Cluster

SHOW = 'echo "$SLURM_JOB_ID.$SLURM_STEP_ID $SLURMD_NODENAME ${SES_REQUIRE-none} ${SES_DISABLE-0} $LD_PRELOAD"'
NEED = "write>=300MB/s free>=2TB"
SOFT = "read>=7MB/s"
CHECKPOINT = "current-write-rate>=200MB/s,weight=3 free-capacity>=50GB"
OTHER = "/usr/lib/x86_64-linux-gnu/libeatmydata.so"


def shown(text: str) -> list[tuple[str, str, str]]:
    """Return of each line of SHOW: the node, what is required (and whether it is off), LD_PRELOAD."""
    lines = [line.split(" ", 2) for line in text.splitlines()]
    return [(node, *rest.rsplit(" ", 1)) for _, node, rest in lines]  # type: ignore[misc]


def test_need_and_library_reach_every_rank(cluster: Cluster) -> None:
    two = ("srun", "-N4", "--ntasks-per-node=2", f"--storage={NEED}", "sh", "-c", SHOW)
    variables = shown(cluster.output(*two))
    assert sorted(variables) == sorted(
        [(node, f"{NEED} 0", str(cluster.library)) for node in NODES for _ in range(2)]
    )


def test_library_comes_after_what_the_user_preloads_and_once(cluster: Cluster) -> None:
    command = ("srun", "-n1", f"--storage={NEED}", "sh", "-c", SHOW)
    ((_, _, list_),) = shown(cluster.output(*command, LD_PRELOAD=OTHER))
    assert list_ == f"{OTHER}:{cluster.library}"
    both = f"{cluster.library}:{OTHER}"
    ((_, _, list_),) = shown(cluster.output(*command, LD_PRELOAD=both))
    assert list_ == both


def test_need_of_a_batch_job_holds_for_its_script_and_steps(cluster: Cluster) -> None:
    out = cluster.work / "batch.out"
    steps = ("-n2", "-n1 --storage=off", f"-n1 '--storage={SOFT}'")
    script = f"{SHOW}; " + "; ".join(f"srun {step} sh -c '{SHOW}'" for step in steps)
    cluster.output(
        "sbatch",
        "--wait",
        "-n2",
        f"--output={out}",
        "--error=/dev/null",
        f"--storage={NEED}",
        f"--wrap={script}",
    )
    variables = shown(out.read_text())
    assert [need for _, need, _ in variables] == [f"{NEED} 0"] * 3 + [f"{NEED} 1", f"{SOFT} 0"]
    assert {list_ for _, _, list_ in variables} == {str(cluster.library)}


def test_need_holds_without_the_environment_of_who_submits(cluster: Cluster) -> None:
    command = ("srun", "-n1", f"--storage={NEED}", "--export=NONE", "/bin/sh", "-c", SHOW)
    assert shown(cluster.output(*command))[0][1:] == (f"{NEED} 0", str(cluster.library))


def test_the_last_of_all_options_holds_also_against_those_of_the_job(cluster: Cluster) -> None:
    def asked(*options: str) -> str:
        return shown(cluster.output("srun", "-n1", *options, "sh", "-c", SHOW))[0][1]

    profile, need = "--storage-profile=checkpoint", f"--storage={SOFT}"
    assert asked(profile, need) == f"{SOFT} 0"
    assert asked(need, profile) == f"{CHECKPOINT} 0"
    out = cluster.work / "inherited.out"
    script = (
        f"srun -n1 '{need}' sh -c '{SHOW}'; srun -n1 --storage=off sh -c '{SHOW}'; srun -n1 sh -c '{SHOW}'"
    )
    cluster.output(
        "sbatch", "--wait", "-n1", f"--output={out}", "--error=/dev/null", profile, f"--wrap={script}"
    )
    assert [required for _, required, _ in shown(out.read_text())] == [
        f"{SOFT} 0",
        f"{CHECKPOINT} 1",
        f"{CHECKPOINT} 0",
    ]


def test_steps_of_a_job_with_a_profile_need_neither_command_nor_service(cluster: Cluster) -> None:
    out = cluster.work / "steps.out"
    script = f"export PATH=/usr/bin:/bin SES_SERVICE_URL=unix:/nonexistent; srun -n1 sh -c '{SHOW}'"
    options = ("--wait", "-n1", f"--output={out}", "--error=/dev/null", "--storage-profile=checkpoint")
    cluster.output("sbatch", *options, f"--wrap={script}")
    assert [need for _, need, _ in shown(out.read_text())] == [f"{CHECKPOINT} 0"]


def test_a_profile_is_what_the_service_says_it_is(cluster: Cluster) -> None:
    command = ("srun", "-n1", "--storage-profile=checkpoint", "sh", "-c", SHOW)
    ((_, need, _),) = shown(cluster.output(*command))
    assert need == f"{CHECKPOINT} 0"


def test_a_profile_that_did_not_come_with_the_job_is_reported(cluster: Cluster) -> None:
    done = cluster.run("srun", "-n1", "--storage-profile=checkpoint", "--export=NONE", "/bin/true")
    assert done.returncode == 0
    assert "did not come with the job: --export must name SES_REQUIRE" in done.stderr


def test_jobs_that_ask_for_nothing_are_left_alone(cluster: Cluster) -> None:
    assert shown(cluster.output("srun", "-n1", "sh", "-c", SHOW))[0][1:] == ("none 0", "")


def test_a_site_may_put_all_jobs_under_the_library(cluster: Cluster) -> None:
    plugins = cluster.work / "plugstack.conf"
    before = plugins.read_text()
    plugins.write_text(before.replace("check=nodes", "jobs=all"))
    try:
        everybody = shown(cluster.output("srun", "-n1", "sh", "-c", SHOW))
        nobody = shown(cluster.output("srun", "-n1", "--storage=off", "sh", "-c", SHOW))
    finally:
        plugins.write_text(before)
    assert everybody[0][1:] == ("none 0", str(cluster.library))
    assert nobody[0][1:] == ("none 1", "")
