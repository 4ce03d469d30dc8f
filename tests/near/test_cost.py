"""The cost model gives the figures of the papers where they follow from their own rates, and only there."""

import math

import pytest
from ses.near.cost import Decision, Here, Holder, Work, decide

MB = 1e6
GREP = Work(returned=0.002, cpu_seconds_per_byte=0.2e-9)
SORT = Work(returned=1.0, cpu_seconds_per_byte=2e-9)


def orca(link_mb_s: float, megabytes: float = 4096, work: Work = GREP, **facts: float) -> Decision:
    """One pair of ORCA's nodes, Type I: a disk of 106.94 MB/s (Table II)."""
    return decide(work, [Holder(megabytes * MB, 106.94 * MB, link_mb_s * MB, **facts)], Here())


@pytest.mark.parametrize(("nfs", "seconds", "saved"), [(60, 68.3, 0.44), (50, 81.9, 0.53), (70, 58.5, 0.34)])
def test_orcas_rates_allow_53_per_cent_at_most(nfs, seconds, saved):
    """Section VII.C: NFS carried 50 to 70 MB/s.  The paper's 90.1 % does not follow."""
    decision = orca(nfs)
    assert decision.here.seconds == pytest.approx(seconds, abs=0.1)
    assert decision.near.seconds == pytest.approx(38.3, abs=0.2)
    assert decision.saved == pytest.approx(saved, abs=0.01)
    assert (decision.near.bound_by, decision.here.bound_by) == ("disk", "link")


def test_orcas_90_per_cent_needs_a_baseline_of_a_tenth_of_the_disk():
    assert orca(10.58).saved == pytest.approx(0.90, abs=0.005)
    assert orca(11.5).saved < 0.901


def test_orcas_network_load_falls_as_far_as_the_program_selects():
    decision = orca(60, work=Work(1 / 45, 0.0))
    assert decision.here.wire_bytes / decision.near.wire_bytes == pytest.approx(45)


def test_the_gain_of_a_scan_grows_with_the_clients_of_a_link():
    saved = [orca(117, 268.6, clients=clients, cores=8.0).saved for clients in (1, 2, 4, 8)]
    assert saved[0] < 0.1
    assert [round(share, 2) for share in saved[1:]] == [0.45, 0.72, 0.86]


def test_sort_that_returns_everything_never_goes_near():
    for clients in (1, 2, 4, 8):
        assert not orca(125, work=SORT, clients=clients, cores=8.0).pays


def test_a_tie_stays_here():
    decision = decide(Work(0.0, 0.0), [Holder(100 * MB, 100 * MB)], Here())
    assert decision.saved == 0
    assert not decision.pays


@pytest.mark.parametrize(("saved", "pays"), [(0.09, False), (0.11, True)])
def test_less_than_the_margin_does_not_pay(saved, pays):
    link = 100 * MB * (1 - saved)
    assert decide(Work(0.0, 0.0), [Holder(1e9, 100 * MB, link)], Here()).pays is pays


def test_disc_reads_four_disks_at_once_and_the_desktop_one():
    """DiSC, Figure 5, at 40 MB/s: 64 MB on each endpoint against 256 MB on the desktop's own disk."""
    work = Work(0.002, 1e-9)
    endpoints = [Holder(64 * MB, 40 * MB, 125 * MB, cores=0.2) for _ in range(4)]
    decision = decide(work, endpoints, Here(125 * MB))
    desktop = decide(work, [Holder(256 * MB, 40 * MB)], Here()).here
    assert desktop.seconds / decision.near.seconds == pytest.approx(4.0, abs=0.05)


def test_disc_loses_the_wordcount_to_the_faster_core():
    """DiSC, Figure 4: what binds near is the CPU."""
    endpoints = [Holder(64 * MB, 40 * MB, 125 * MB, cores=0.2, slowdown=1.0) for _ in range(4)]
    decision = decide(Work(0.3, 50e-9, processes=4), endpoints, Here(125 * MB, cores=4.0))
    assert decision.saved < 0
    assert decision.near.bound_by == "CPU"


def test_disc_grows_with_what_is_returned_over_a_slow_link():
    """DiSC, section 3.3: flat up to 2 %, longer at 5 and 10 %."""

    def seconds(returned: float) -> float:
        endpoints = [Holder(64 * MB, 40 * MB, 12 * MB, cores=0.2) for _ in range(4)]
        return decide(Work(returned, 1e-9), endpoints, Here(125 * MB)).near.seconds

    assert seconds(0.02) / seconds(0.002) < 1.07
    assert seconds(0.10) / seconds(0.002) > 1.25


def test_a_quota_and_clients_divide_the_cores_of_a_holder_but_a_process_has_one_at_most():
    work = Work(0.0, 1e-8)

    def cpu(**facts: float) -> float:
        return decide(work, [Holder(100 * MB, math.inf, **facts)], Here()).near.cpu

    assert [cpu(), cpu(cores=0.5), cpu(cores=8.0), cpu(cores=8.0, clients=16)] == pytest.approx([1, 2, 1, 2])


def test_starting_there_counts():
    holder = [Holder(1e6, 1e8, 1e7)]
    assert decide(GREP, holder, Here()).pays
    assert not decide(GREP, holder, Here(), start_seconds=0.5).pays


def test_nobody_who_holds_the_data_is_an_error():
    with pytest.raises(ValueError, match="nobody"):
        decide(GREP, [], Here())
