"""Figures that contradict each other, and trials that were not left alone."""

from __future__ import annotations

import msgspec
import pytest

from groundspeed.record import Histogram, LagSummary, Measured, Record
from tests.examples import make_measured, make_provenance, make_record, make_run, make_trial
from tests.unit.guarded import codes, evidence, guarded, host_work, side_by_side

ONE = make_provenance()


def trials(
    *means_s: float, clients: int = 4, workload: str = "select-only", **changed: object
) -> list[Record]:
    """Trials of one cell at 1,000 TPS, each with its mean latency."""
    return [
        make_record(
            make_trial(clients=clients, repeat_index=i, workload=workload),
            msgspec.structs.replace(
                make_measured(1000.0, p50_s=mean_s / 1.1),
                **changed,
            ),
        )
        for i, mean_s in enumerate(means_s)
    ]


@pytest.mark.parametrize("mean_s", [0.00393, 0.004, 0.00407])
def test_within_two_percent_little_s_law_holds(mean_s: float) -> None:
    assert guarded(trials(mean_s)) == ()


def test_time_between_transactions_breaks_little_s_law() -> None:
    [found] = guarded(trials(0.0032, 0.0033, 0.0040))
    assert found.code == "little"
    assert found.message == (
        "TPS x mean latency is 0.82 of the clients, by Little's law it should be 1 within 2%: for"
        " 18% of the time a client was in no transaction but waited for pgbench itself, which"
        " latency does not contain"
    )
    [found] = guarded(trials(0.0050))
    assert "latency and throughput do not belong together" in found.message


def test_one_odd_trial_is_no_cell() -> None:
    assert guarded(trials(0.0032, 0.0040, 0.0040)) == ()


def test_the_scatter_of_a_sampled_log_is_allowed_for() -> None:
    few = Histogram(buckets=((10, 100),))
    # A standard deviation of half a median is 4.5% of the mean over 100 lines, three times 14%.
    assert guarded(trials(0.0036, log_sampling_ratio=0.02, histogram=few)) == ()
    many = Histogram(buckets=((10, 100_000),))
    assert codes(guarded(trials(0.0036, log_sampling_ratio=0.02, histogram=many))) == ["little"]


def with_trial(records: list[Record], **changed: object) -> list[Record]:
    return [
        msgspec.structs.replace(r, trial=msgspec.structs.replace(r.trial, **changed))
        for r in records
    ]


def test_clients_that_are_not_always_in_a_transaction_are_exempt() -> None:
    assert guarded(with_trial(trials(0.001), rate_per_s=1000.0)) == ()
    assert guarded(trials(0.001, failed_count=0, tps_per_s=0.0)) == ()
    own = trials(0.001, workload="own")
    assert guarded(own) == ()
    assert guarded(own, pausing_workloads=("own",)) == ()
    assert codes(guarded(own, pausing_workloads=())) == ["little"]
    reconnecting = [
        msgspec.structs.replace(
            r, provenance=msgspec.structs.replace(ONE, command=("pgbench", "-C", "dbname=x"))
        )
        for r in trials(0.001)
    ]
    assert guarded(reconnecting) == ()


def test_failed_transactions_are_told_with_their_share() -> None:
    # 5,000 succeeded in each.
    [found] = guarded([*trials(0.004, failed_count=50), *trials(0.002, clients=2, failed_count=5)])
    assert found.code == "failed-transactions"
    assert found.message.startswith("0.1 to 0.99% of the transactions failed")
    assert {c.clients for c in found.cells} == {2, 4}


def lagging(mean_s: float, p99_s: float) -> list[Record]:
    lag = LagSummary(mean_s=mean_s, p99_s=p99_s, max_s=p99_s)
    return with_trial(trials(0.001, schedule_lag=lag), rate_per_s=1000.0, latency_limit_s=0.010)


def test_a_schedule_that_was_not_kept_is_told() -> None:
    assert guarded(lagging(0.00009, 0.009)) == ()
    [late] = guarded(lagging(0.00025, 0.009))
    assert late.code == "schedule-lag"
    assert "25% of the mean latency is schedule lag" in late.message
    [over] = guarded(lagging(0.00009, 0.015))
    assert over.code == "schedule-lag"
    assert "their lag is 1.5 times the limit" in over.message
    assert codes(guarded(lagging(0.00025, 0.015))) == ["schedule-lag", "schedule-lag"]


def test_tpcb_at_a_scale_below_its_clients_waits_for_itself() -> None:
    records = side_by_side(
        {"a": ONE, "b": ONE},
        workloads=("tpcb-like", "simple-update", "select-only"),
        clients=(4, 8, 16),
        scale=5,
    )
    [found] = guarded(records)
    assert found.code == "scale-below-clients"
    assert found.message == (
        "tpcb-like at scale 5 with 8 and 16 clients: all update the same few rows of"
        " pgbench_branches and wait for each other; take a scale of 16 or more"
    )
    cells = {(c.environment, c.workload, c.clients) for c in found.cells}
    assert cells == {(e, "tpcb-like", c) for e in ("a", "b") for c in (8, 16)}


def test_a_scale_of_as_many_as_clients_is_enough() -> None:
    assert guarded(side_by_side({"a": ONE}, workloads=("tpcb-like",), clients=(8,), scale=8)) == ()


def test_neighbours_are_told_with_whom_they_hit() -> None:
    quiet = evidence(host=host_work(other_cpu_count=0.04, steal_ratio=0.0))
    loud = evidence(host=host_work(other_cpu_count=0.8, steal_ratio=0.06))
    records = side_by_side(
        {"a": ONE, "b": ONE}, workloads=("tpcb-like",), seen={"a": quiet, "b": loud}
    )
    others, steal = guarded(records)
    assert others.code == "noisy-neighbours"
    assert others.message == (
        "other processes burnt up to 20% of all cores, and not the same in all environments:"
        " 1% in a and 20% in b"
    )
    assert others.environments == ("b",)
    assert steal.code == "steal"
    assert steal.message.startswith("the hypervisor gave others up to 6% of all cores, and not")


def test_neighbours_that_hit_all_alike_are_said_to() -> None:
    loud = evidence(host=host_work(other_cpu_count=0.8))
    records = side_by_side(
        {"a": ONE, "b": ONE}, workloads=("tpcb-like",), seen={"a": loud, "b": loud}
    )
    [found] = guarded(records)
    assert found.message.endswith("about the same in all environments: 20% in a and 20% in b")
    [alone] = guarded([r for r in records if r.trial.cell.environment == "a"])
    assert alone.message == "other processes burnt up to 20% of all cores"


def test_what_was_not_seen_is_no_neighbour() -> None:
    unseen = evidence(host=host_work(other_cpu_count=None, steal_ratio=0.02))
    assert guarded(side_by_side({"a": ONE}, workloads=("tpcb-like",), seen={"a": unseen})) == ()
    assert guarded(side_by_side({"a": ONE}, workloads=("tpcb-like",))) == ()


def test_order_does_not_depend_on_the_order_of_records() -> None:
    loud = evidence(host=host_work(other_cpu_count=0.8, steal_ratio=0.06))
    records = side_by_side(
        {"a": ONE, "b": ONE},
        workloads=("tpcb-like", "select-only"),
        clients=(1, 8),
        scale=4,
        seen={"a": loud, "b": loud},
    )
    run = make_run(records)
    order = {"environments": run.environments, "workloads": run.workloads}
    assert guarded(records) == guarded(records[::-1], **order)
    assert len(guarded(records)) == 3


def test_a_run_without_a_measurement_has_nothing_to_guard() -> None:
    assert guarded([]) == ()
    assert isinstance(make_measured(), Measured)
