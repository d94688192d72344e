"""Many runs: what they give, in parts that are kept, over workers that may die."""

import math
import os
from concurrent.futures import Executor, Future
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

import msgspec
import pytest
from costmodel_shapes import h100, llama_8b, mixtral_8x7b, textbook

from pdviz.errors import InputError
from pdviz.serving import study as studies
from pdviz.serving.costs import PassCosts
from pdviz.serving.measures import Targets
from pdviz.serving.policies import Knobs
from pdviz.serving.presets import one_long_prompt, steady_chat
from pdviz.serving.study import Setting, cluster, most_load, processes, run_point, study

LLAMA = PassCosts(textbook(llama_8b()), h100())
CHAT = steady_chat(count=80)
TARGETS = Targets(0.5, 0.05)


def budgets(*tokens, costs=LLAMA):
    return [Setting({"token_budget": n}, Knobs("chunked", token_budget=n), costs) for n in tokens]


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(studies, "REQUESTS_AT_ONCE", 2 * len(CHAT))


class Here(Executor):
    """Runs what it is given at once, except the calls that are to find their worker dead."""

    def __init__(self, dies):
        self.dies, self.calls = dies, 0

    def submit(self, work, *arguments):
        self.calls += 1
        future = Future()
        if self.calls in self.dies:
            future.set_exception(BrokenProcessPool("a worker died"))
        else:
            future.set_result(work(*arguments))
        return future


def dying(*calls):
    made = []

    @contextmanager
    def make():
        made.append(Here(calls[len(made)] if len(made) < len(calls) else ()))
        yield made[-1]

    return make, made


def test_that_a_budget_trades_gaps_against_first_tokens():
    small, large = study(one_long_prompt(), budgets(128, 4096), Targets())
    assert small.values == {"token_budget": 128}
    assert small.summary.itl_s.max < large.summary.itl_s.max
    assert small.summary.ttft_s.p99 > large.summary.ttft_s.p99
    assert small.passes > large.passes


def test_that_points_come_in_the_order_of_the_settings_however_they_are_run(small_parts, tmp_path):
    settings = budgets(64, 128, 256, 512, 1024)
    here = study(CHAT, settings, TARGETS)
    assert [p.values["token_budget"] for p in here] == [64, 128, 256, 512, 1024]
    assert study(CHAT, settings, TARGETS, processes(2)) == here
    assert here[3] == run_point(CHAT, settings[3], TARGETS)


def test_that_a_study_goes_on_where_it_was_stopped_and_is_read_when_repeated(
    small_parts, tmp_path, monkeypatch
):
    settings = budgets(64, 128, 256, 512, 1024, 2048)

    class StoppedError(Exception):
        pass

    def stop(share):
        if share > 0.3:
            raise StoppedError

    with pytest.raises(StoppedError):
        study(CHAT, settings, TARGETS, folder=tmp_path, watch=stop)
    assert len(list(tmp_path.iterdir())) == 1
    shares = []
    first = study(CHAT, settings, TARGETS, folder=tmp_path, watch=shares.append)
    assert shares == pytest.approx([1 / 3, 2 / 3, 1])
    assert len(list(tmp_path.iterdir())) == 3
    monkeypatch.setattr(studies, "run_point", None)
    assert (
        study(CHAT, settings, TARGETS, folder=tmp_path)
        == first
        == study(CHAT, settings, TARGETS, folder=tmp_path)
    )


def test_that_whatever_a_part_depends_on_is_in_its_name(tmp_path):
    mixture = PassCosts(textbook(mixtral_8x7b()), h100())
    slower = PassCosts(LLAMA.model, h100(compute_efficiency=0.4))
    asked = [
        (CHAT, budgets(64), TARGETS, False),
        (steady_chat(count=80, seed=1), budgets(64), TARGETS, False),
        (CHAT, budgets(65), TARGETS, False),
        (CHAT, budgets(64, costs=mixture), TARGETS, False),
        (CHAT, budgets(64, costs=slower), TARGETS, False),
        (CHAT, [msgspec.structs.replace(budgets(64)[0], load=2.0)], TARGETS, False),
        (CHAT, budgets(64), Targets(0.5, 0.06), False),
        (CHAT, budgets(64), TARGETS, True),
    ]
    for n, (workload, settings, targets, bisects) in enumerate(asked):
        study(workload, settings, targets, folder=tmp_path, bisects=bisects)
        assert len(list(tmp_path.iterdir())) == n + 1


def test_that_a_damaged_part_is_run_again(tmp_path):
    first = study(CHAT, budgets(64), TARGETS, folder=tmp_path)
    (part,) = tmp_path.iterdir()
    for damage in (b"", b"[", b"[{}]", b"{}"):
        part.write_bytes(damage)
        assert study(CHAT, budgets(64), TARGETS, folder=tmp_path) == first


def test_that_what_a_dead_worker_had_is_tried_again(small_parts):
    settings = budgets(64, 128, 256, 512)
    make, made = dying({2}, {1})
    assert study(CHAT, settings, TARGETS, make) == study(CHAT, settings, TARGETS)
    assert len(made) == 3


def test_that_work_which_kills_its_workers_is_given_up_in_a_sentence(small_parts):
    make, made = dying({1}, {1}, {1}, {1})
    with pytest.raises(InputError, match="workers died 3 times"):
        study(CHAT, budgets(64), TARGETS, make)
    assert len(made) == 3


def kill_once(workload, part, targets, bisects, folder):
    """Takes the process down the first time that any part is run."""
    try:
        (folder / "died").touch(exist_ok=False)
    except FileExistsError:
        return [part.name]
    os._exit(1)


def test_that_a_process_that_is_killed_is_replaced(tmp_path, small_parts, monkeypatch):
    monkeypatch.setattr(studies, "_work", kill_once)
    points = study(CHAT, budgets(64, 128), TARGETS, processes(1), folder=tmp_path)
    assert len(points) == 1
    assert (tmp_path / "died").exists()


def test_that_the_most_load_is_where_the_targets_are_just_met():
    targets = Targets(0.6, 0.1)
    setting = budgets(512)[0]
    best = most_load(CHAT, setting, targets)
    assert best.good_share >= studies.GOOD_SHARE
    beyond = msgspec.structs.replace(setting, load=best.load * studies.CLOSE * 1.001)
    assert run_point(CHAT, beyond, targets).good_share < studies.GOOD_SHARE
    from_above = msgspec.structs.replace(setting, load=64.0)
    assert most_load(CHAT, from_above, targets).load == pytest.approx(best.load, rel=0.02)


def test_that_what_is_borne_at_any_load_or_none_is_said(tmp_path):
    assert most_load(CHAT, budgets(512)[0], Targets()).load == math.inf
    assert most_load(CHAT, budgets(512)[0], Targets(1e-6)).load == 0.0
    one = study(CHAT, budgets(512), Targets(), bisects=True, folder=tmp_path)
    assert study(CHAT, budgets(512), Targets(), bisects=True, folder=tmp_path) == one
    assert one[0].load == math.inf


@pytest.mark.parametrize("load", [0.0, -1.0, math.nan, math.inf])
def test_that_a_load_that_cannot_be_is_refused(load):
    with pytest.raises(InputError, match="load"):
        study(CHAT, [msgspec.structs.replace(budgets(64)[0], load=load)], TARGETS)


def test_that_knobs_that_cannot_be_are_refused_before_anything_runs():
    with pytest.raises(InputError, match="token_budget"):
        study(CHAT, budgets(64, 0), TARGETS, dying()[0])


def test_that_costs_are_the_same_in_another_process():
    import pickle

    again = pickle.loads(pickle.dumps(LLAMA))
    assert again == LLAMA
    assert again.model.fidelity is LLAMA.model.fidelity


class TestCluster:
    """With the extra of that name."""

    distributed = pytest.importorskip("distributed")

    def test_that_a_local_cluster_gives_the_same_points(self, small_parts):
        with self.distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
        ) as local:
            points = study(CHAT, budgets(64, 128, 256), TARGETS, cluster(local.scheduler_address))
        assert points == study(CHAT, budgets(64, 128, 256), TARGETS)

    def test_that_an_address_where_nothing_is_is_one_sentence(self, monkeypatch):
        monkeypatch.setattr(studies, "PATIENCE_S", 0.3)
        with pytest.raises(InputError, match="nothing answers at"):
            study(CHAT, budgets(64), TARGETS, cluster("tcp://127.0.0.1:9"))
