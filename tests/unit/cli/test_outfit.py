"""Who makes the targets of environments in Kubernetes, and who does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from groundspeed.cli import session
from groundspeed.cli.outfit import Outfit, account_for
from groundspeed.errors import TargetError
from groundspeed.plan import POSTGRES
from groundspeed.storage.placement import Machine
from groundspeed.targets import engines
from groundspeed.targets.kube_access import Reached, ServerLogin
from groundspeed.targets.kube_server import KubernetesTarget
from groundspeed.targets.kube_service import ServiceTarget
from groundspeed.targets.leases import LeaseFile
from groundspeed.targets.local import Surroundings
from tests.kube_runs import RUN_ID, access, planned, pod, put_anchor, suite_text
from tests.kube_server import KubeServer

if TYPE_CHECKING:
    from collections.abc import Iterator

    from groundspeed.targets.kube_access import ClusterAccess

PLAN = planned(
    suite_text(
        {
            "ours": pod(),
            "theirs": {"target": "kubernetes", "service": {"name": "db", "secret": "x"}},
        }
    )
)
MACHINE = Machine(memory_bytes=1024**3, fast_directory="/dev/shm")


def surroundings() -> Surroundings:
    return Surroundings(
        run_id=RUN_ID,
        lease=LeaseFile(RUN_ID),
        account=None,
        describe_storage=session.describe_storage,
        clone=False,
    )


@pytest.fixture
def cluster() -> Iterator[ClusterAccess]:
    with KubeServer() as kube:
        yield access(
            kube.client(),
            put_anchor(kube),
            lambda _: Reached(host="127.0.0.1", port=1),
            logins={"theirs": ServerLogin(user="u", password="p")},
        )


def test_made_and_given_servers_have_targets_of_their_kind(cluster: ClusterAccess) -> None:
    made = Outfit(PLAN, PLAN.environments, surroundings(), {}, MACHINE, cluster=cluster)
    assert {name: type(target) for name, target in made.targets.items()} == {
        "ours": KubernetesTarget,
        "theirs": ServiceTarget,
    }
    assert made.others_in_cluster(PLAN) == ()


def test_those_that_are_done_with_are_there_to_be_removed(cluster: ClusterAccess) -> None:
    made = Outfit(PLAN, PLAN.environments[:1], surroundings(), {}, MACHINE, cluster=cluster)
    [other] = made.others_in_cluster(PLAN)
    assert isinstance(other, ServiceTarget)


def test_elsewhere_than_in_a_cluster_they_are_refused() -> None:
    with pytest.raises(TargetError, match="ours is in Kubernetes, this process is not") as caught:
        Outfit(PLAN, PLAN.environments, surroundings(), {}, MACHINE)
    assert "--on kubernetes" in caught.value.hint


def test_another_engine_is_refused(cluster: ClusterAccess) -> None:
    maker = engines.maker("redis", surroundings())
    with pytest.raises(TargetError, match="only postgres is measured"):
        maker.in_cluster(PLAN.environments[0], cluster)
    assert PLAN.engine == POSTGRES


def test_nobody_is_looked_for_to_run_servers_of_a_cluster() -> None:
    assert account_for(PLAN.environments) is None
