"""Tasks: every byte in exactly one, each node its own, and what a node fails at is done here."""

import threading
from pathlib import Path

import pytest
from ses.near.price import Prices, near_over_here
from ses.near.tasks import HERE, Extent, Turns, progress, tasks_of

FILES = [Extent(Path("a"), 0, 100, "n1"), Extent(Path("b"), 0, 250, "n2"), Extent(Path("c"), 0, 0, "n1")]


@pytest.mark.parametrize("piece", [None, 1000, 100, 99, 7])
def test_tasks_together_are_all_files_in_order(piece):
    tasks = tasks_of(FILES, piece)
    assert [task.number for task in tasks] == list(range(len(tasks)))
    for extent in FILES:
        mine = [task for task in tasks if task.file == extent.file]
        assert {task.node for task in mine} == {extent.node}
        assert [task.start for task in mine] == [0, *(task.end for task in mine[:-1])]
        assert mine[-1].end == extent.end
        assert piece is None or all(task.end - task.start <= piece for task in mine)
        assert all(task.whole == (len(mine) == 1) for task in mine)


def turns(retries=2):
    tasks = tasks_of([Extent(Path(name), 0, 1, "n1") for name in "abcd"], None)
    return Turns(tasks, retries), tasks


def test_a_task_that_is_lost_is_done_here():
    queue, _ = turns()
    task = queue.take("n1")
    queue.failed(task, "n1", "gone")
    assert queue.take(HERE) == task


def test_a_node_that_fails_twice_in_a_row_gets_nothing_more():
    queue, tasks = turns()
    for _ in range(2):
        queue.failed(queue.take("n1"), "n1", "gone")
    assert queue.take("n1") is None
    assert sorted(queue.take(HERE).number for _ in tasks) == [0, 1, 2, 3]


def test_a_node_that_failed_once_goes_on():
    queue, _ = turns()
    queue.failed(queue.take("n1"), "n1", "gone")
    queue.take("n1")
    queue.done("n1")
    queue.failed(queue.take("n1"), "n1", "gone")
    assert queue.take("n1") is not None


@pytest.mark.parametrize("retries", [0, 1, 3])
def test_a_task_is_begun_no_more_often_than_asked(retries):
    queue, _ = turns(retries)
    begun, node = 0, "n1"
    while queue.given_up is None:
        task = queue.take(node)
        begun, node = begun + 1, HERE
        queue.failed(task, node, "gone")
    assert begun == 1 + retries
    assert queue.given_up == f"a was tried {begun} times: gone"
    assert queue.take("n1") is queue.take(HERE) is None


def test_this_node_waits_until_nothing_can_be_lost_any_more():
    queue, tasks = turns()
    got = []
    waiter = threading.Thread(target=lambda: got.append(queue.take(HERE)))
    waiter.start()
    for _ in tasks:
        queue.take("n1")
        assert got == []
        queue.done("n1")
    waiter.join(60)
    assert got == [None]


def test_progress_counts_bytes_and_tells_what_is_left():
    tasks = {task.number: task for task in tasks_of(FILES, None)}
    assert progress(tasks, [], 5.0).text == "0 of 3 tasks, 0 MB"
    assert progress(tasks, [0], 2.0).seconds_left == pytest.approx(5.0)


def test_prices_decide_with_the_time():
    """DiSC, section 3.4: twice as fast on a quarter of the hardware's price is eight times the ratio."""
    assert near_over_here(Prices(180, 15), 4, 1.0, 2.0) == pytest.approx(2 * 240 / 60)
    with pytest.raises(ValueError, match="positive"):
        Prices.of("desktop=1,endpoint=0")
