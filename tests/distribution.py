"""Which worker runs which file of tests, and when."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

TESTS = Path(__file__).parent

#: Files that take longest, longest first: begun last, one would keep a single worker busy at the end.
LONG = (
    *("agent/test_fuzz.py", "service/test_durable.py", "portal/test_in_a_browser.py", "demo/test_demo.py"),
    *("service/test_several_services.py", "portal/test_knowledge_story.py", "portal/test_story.py"),
    *("knowledge/test_kill.py", "knowledge/test_exchange.py", "experiment/test_collision.py"),
    *("security/test_what_is_known_of_the_site_is_not_lost_silently.py", "knowledge/test_store_traps.py"),
    *("story/test_storm.py", "simulate/test_results.py", "portal/test_newcomers_and_developers.py"),
    *("story/test_portal_moves_files.py", "service/test_damaged_ledger.py", "service/test_contract.py"),
    *("service/test_edge.py", "security/test_servers_under_attack.py", "monitor/test_serve.py"),
    *("security/test_listeners_speak_tls.py", "monitor/test_mirror.py", "story/test_a_service_dies.py"),
    *("service/test_members.py", "programs/test_every_create_is_seen.py", "run/test_check.py"),
)

#: Files, and folders, that mostly wait: less than a fifth of their time is processor time.  What takes
#: longest comes first.
WAITING = (
    *(
        "slurm",
        "share/test_other_nodes.py",
        "agent/test_service_faults.py",
        "monitor/test_real_prometheus.py",
    ),
    *("agent/test_short_lives.py", "agent/test_rates.py", "near/test_dead_nodes.py"),
    *("share/test_coherence.py", "agent/test_claims.py", "agent/test_same_number.py"),
    *("agent/test_claims_hostile.py", "agent/test_open_files.py", "lustre/test_agent_table.py"),
    *("monitor/test_asking.py", "share/test_dead_processes.py", "agent/test_idle_files.py"),
    *("agent/test_restarts.py", "agent/test_offline.py", "copy/test_migrate.py", "copy/test_unlucky.py"),
)


class Distribution(LoadFileScheduling):
    """Of three workers the last one runs only files that mostly wait.

    Some calls that are tested have a time limit of milliseconds: no more programs are to be busy at a time
    than there are processors.  The others run those files too when nothing else is left.
    """

    def _assign_work_unit(self, node: WorkerController) -> None:
        waiting = [file for file in self.workqueue if mostly_waits(file.removeprefix("tests/"))]
        busy = [file for file in self.workqueue if file not in waiting]
        wanted = waiting if self._is_last(node) else busy or waiting
        if wanted:
            self.workqueue.move_to_end(wanted[0], last=False)
            super()._assign_work_unit(node)
        elif not node.shutting_down:
            node.shutdown()

    def _is_last(self, node: WorkerController) -> bool:
        return self.numnodes > 2 and node.gateway.id == f"gw{self.numnodes - 1}"


def mostly_waits(file: str) -> bool:
    return file in WAITING or file.partition("/")[0] in WAITING


def in_order(items: list[pytest.Item]) -> list[pytest.Item]:
    """What takes longest first."""
    place = {TESTS / name: number for number, name in enumerate((*LONG, *WAITING))}
    return sorted(items, key=lambda item: place.get(item.path, place.get(item.path.parent, len(place))))
