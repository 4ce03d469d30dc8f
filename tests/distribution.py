"""Which worker runs which file of tests, and when."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdist.scheduler import LoadFileScheduling
from xdist.workermanage import WorkerController

TESTS = Path(__file__).parent

#: Files that take longest, longest first: begun last, one would keep a single worker busy at the end.
LONG = (
    *("demo/test_demo.py", "portal/test_in_a_browser.py"),
    *("knowledge/test_exchange.py", "security/test_what_is_known_of_the_site_is_not_lost_silently.py"),
    *("story/test_site_page.py", "portal/test_knowledge_story.py"),
    *("portal/test_newcomers_and_developers.py", "knowledge/test_kill.py", "experiment/test_collision.py"),
    *("security/test_servers_under_attack.py", "service/test_contract.py", "portal/test_story.py"),
    *("story/test_portal_moves_files.py", "service/test_command.py", "portal/test_requirements_pages.py"),
    *("story/test_storm.py", "story/test_readme_page.py", "story/test_a_service_dies.py"),
    *("story/test_second_service.py", "knowledge/test_runaway.py", "simulate/test_results.py"),
    *("programs/test_every_create_is_seen.py", "extras/sampler/test_mirror.py", "knowledge/test_embedded.py"),
    *("benchmarks/test_knowledge.py", "security/test_no_request_costs_much.py"),
    *("knowledge/test_store_traps.py", "security/test_one_user_holds_up_nobody.py"),
    *("security/test_listeners_speak_tls.py", "service/test_writer_process.py"),
    *("simulate/test_interrupted.py", "near/test_map_near.py", "extras/share/test_regions.py"),
    *("portal/test_sent_again.py", "service/test_edge.py", "service/test_members.py", "run/test_check.py"),
)

#: Files, and folders, that mostly wait: less than two fifths of their time is processor time.  What takes
#: longest comes first.
WAITING = (
    *("service/test_durable.py", "security/test_a_description_can_be_no_worse_than_refused.py", "slurm"),
    *("extras/share/test_other_nodes.py", "service/test_several_services.py"),
    *("security/test_munge_says_who_a_node_is.py", "agent/test_service_faults.py"),
    *("agent/test_short_lives.py", "libses/test_place_faults.py", "knowledge/test_lost_answers.py"),
    *("run/test_supervise.py", "libses/api/test_install.py", "service/test_damaged_ledger.py"),
    *("monitor/test_serve.py", "demo/test_demo_slurm.py", "libses/test_coverage.py"),
    *("libses/api/test_requirements_example.py", "agent/test_rates.py", "monitor/test_real_prometheus.py"),
    *("near/test_dead_nodes.py", "libses/test_place_identity.py", "agent/test_claims.py"),
    *("agent/test_open_files.py", "copy/test_swapped.py", "agent/test_frozen_processes.py"),
    *("security/test_no_token_goes_to_a_stranger.py", "libses/test_preload_life.py"),
    *("extras/share/test_coherence.py", "agent/test_claims_hostile.py", "agent/test_offline.py"),
    *("security/test_a_knowledge_base_proves_itself.py", "agent/test_same_number.py"),
    *("command/test_wrong_input.py", "service/test_journal.py", "portal/test_windows.py"),
    *("agent/test_unsent.py", "lustre/test_agent_table.py", "agent/test_unions.py"),
    *("agent/test_no_segments.py", "monitor/test_asking.py", "agent/test_restarts.py"),
    *("agent/test_idle_files.py", "extras/share/test_dead_processes.py", "copy/test_unlucky.py"),
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
