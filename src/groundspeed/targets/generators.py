"""Load by several generators in pods: shared, made at the same time, and added up exactly.

Each load is talked over with a `groundspeed generator` in every pod; it ends with the connection.
What prepares a database is no load, and is made in this pod alone.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import msgspec

from groundspeed import __version__
from groundspeed.errors import TargetError
from groundspeed.measurement.together import doubts
from groundspeed.targets import generator_messages as messages
from groundspeed.targets import generator_pods, pgbench_login
from groundspeed.targets.generator_job import ensure_generators
from groundspeed.targets.generator_link import Link, LinkLostError
from groundspeed.targets.generator_load import JointLoad, LoadOrder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object
    from groundspeed.plan import Command, Trial
    from groundspeed.ports import LoadResult, Progress
    from groundspeed.targets.generator_pods import GeneratorPod
    from groundspeed.targets.leases import LeaseFile
    from groundspeed.targets.loading import Loader
    from groundspeed.targets.sql import Address

_COMMAND = ("groundspeed", "generator")
# The measured load follows its warm-up on the same connections; those that lay idle for longer are
# made anew, before a generator takes the silence for our end.
_REUSE_S = 20.0
_RETRY_HINT = "groundspeed resume measures the trial again"


class GeneratorLoader:
    """Implements `Loader` with the pods of a Job."""

    def __init__(  # noqa: PLR0913 - all of it is somebody else's
        self,
        local: Loader,
        *,
        api: Api,
        run_id: str,
        job: Object,
        count: int,
        tell: Callable[[str], None],
    ) -> None:
        """Make nothing yet; `local` makes what is no load, and is opened and closed with this."""
        self._local = local
        self._api = api
        self._run_id = run_id
        self._job = job
        self._count = count
        self._tell = tell
        self._slug = ""
        self._links: dict[Link, GeneratorPod] = {}
        self._used_s = 0.0
        self._load_number = 0

    def open(self, *, environment_slug: str, lease: LeaseFile) -> None:
        """Make the Job of the generators where it is not there yet; it belongs to the run."""
        self._slug = environment_slug
        self._local.open(environment_slug=environment_slug, lease=lease)
        ensure_generators(self._api, self._job)

    def run(  # noqa: PLR0913 - as the protocol has it
        self,
        command: Command,
        trial: Trial | None,
        *,
        address: Address,
        variables: Mapping[str, str],
        limit_s: float,
        on_progress: Callable[[Progress], None],
    ) -> LoadResult:
        """Make the load in all of them; one that is lost raises TargetError."""
        if trial is None:
            return self._local.run(
                command,
                trial,
                address=address,
                variables=variables,
                limit_s=limit_s,
                on_progress=on_progress,
            )
        self._load_number += 1
        order = LoadOrder(
            number=self._load_number,
            command=command,
            trial=trial,
            login=pgbench_login.login(address, variables),
            limit_s=limit_s,
        )
        with self._ending_all_when_it_fails():
            self._connect(conninfo=command.arguments[-1])
            return self._run(order, on_progress)

    def _run(self, order: LoadOrder, on_progress: Callable[[Progress], None]) -> LoadResult:
        # Before the load: what the API server does not tell then costs no result.
        nodes = generator_pods.server_nodes(
            self._api, run_id=self._run_id, environment_slug=self._slug
        )
        joint = JointLoad(tuple(self._links), order, on_progress)
        result = joint.run()
        if joint.has_failed:
            self._end_all()
            return result
        parts = joint.parts()
        cautions = doubts(parts, duration_s=order.trial.duration_s, server_nodes=nodes)
        if any(part.after is None for part in parts):
            self._end_all()
        self._used_s = time.monotonic()
        return msgspec.structs.replace(result, cautions=cautions)

    def program_version(self, program: str) -> str:
        """Ask all of them; they have to agree. Raises TargetError."""
        with self._ending_all_when_it_fails():
            self._connect()
            return self._version(program, conninfo="")

    def close(self, lease: LeaseFile) -> None:
        """End what was started in the pods; the Job goes with the run."""
        self._end_all()
        self._local.close(lease)

    # -- connections

    @contextlib.contextmanager
    def _ending_all_when_it_fails(self) -> Iterator[None]:
        try:
            yield
        except LinkLostError as lost:
            pod = self._links.get(lost.link)
            why = None if pod is None else generator_pods.why_lost(self._api, pod)
            self._end_all()
            raise TargetError(f"{lost.link.who} was lost: {why or lost}", _RETRY_HINT) from None
        except BaseException:
            # A load without somebody who waits for it is worse than none.
            self._end_all()
            raise

    def _connect(self, *, conninfo: str = "") -> None:
        """Have a generator in each pod: those of just now, or new ones."""
        if self._links and time.monotonic() - self._used_s < _REUSE_S:
            return
        self._end_all()
        ensure_generators(self._api, self._job)
        pods = generator_pods.ready_pods(
            self._api, self._job, run_id=self._run_id, count=self._count, tell=self._tell
        )
        for number, pod in enumerate(pods, start=1):
            who = f"generator {number} of {len(pods)} (pod {pod.name})"
            program = self._api.open(pod.name, pod.container, _COMMAND)
            self._links[Link(program, who=who, node=pod.node)] = pod
        for link in self._links:
            self._greet(link)
        # Looked for now, so that no load is late for it; and no two of them may differ.
        self._version("pgbench", conninfo=conninfo)
        self._used_s = time.monotonic()

    def _greet(self, link: Link) -> None:
        hello = link.greet()
        if hello.version != __version__:
            raise TargetError(
                f"{link.who} has groundspeed {hello.version}, this one is {__version__}",
                "give the runner and its generators the same image",
            )

    def _version(self, program: str, *, conninfo: str) -> str:
        for link in self._links:
            link.send(messages.ProgramAsked(name=program, conninfo=conninfo))
        told = {link: link.wait_for(messages.ProgramTold).version for link in self._links}
        versions = sorted(set(told.values()))
        if len(versions) > 1:
            raise TargetError(
                f"generators have {program} {' and '.join(versions)}: their loads are not alike",
                "an image that was changed under its name? Name it by its digest",
            )
        return versions[0]

    def _end_all(self) -> None:
        """Tell all to end before any is waited for."""
        links, self._links = tuple(self._links), {}
        for link in links:
            link.tell_end()
        for link in links:
            link.wait_until_ended()
