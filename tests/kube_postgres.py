"""Plays the controllers of servers in `kube_server`, with real PostgreSQL servers as their pods.

    with KubeServer() as kube, KubePostgres(kube, version=16, password="secret") as cluster:
        ...                       # a StatefulSet that is applied gets a claim and a pod, and the
                                  # pod is a postgres of this process, on a port of its own
    cluster.reach(environment)    # where it is
    cluster.end_pod("server-0")   # as kubectl delete pod: it ends, and the next one comes
    cluster.started               # names of pods that were started, in order

Claims keep what is on them until they are deleted. One PostgreSQL is initialised for each name and
used again by later tests: a deleted claim empties it of all that a run made.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import psycopg
from psycopg import sql

from groundspeed.manifests import naming, servers
from groundspeed.targets import installation
from groundspeed.targets.kube_access import Reached
from tests.kube_server import ready_pod
from tests.server.given import free_port
from tests.small_runs import account, needs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.plan import EnvironmentPlan
    from tests.kube_server import KubeServer
    from tests.kube_store import Object

_POLL_S = 0.02
_START_POLLS = 1500


class Machine:
    """Initialised data directories, and the servers that run on them; for all tests of a module."""

    def __init__(self, version: int, password: str) -> None:
        needs(version)
        self.password = password
        self._programs = installation.find(version)
        self._home = Path(tempfile.mkdtemp(prefix="kube-postgres-", dir="/tmp"))
        self._home.chmod(0o755)
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._ports: dict[str, int] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for slug in list(self._running):
            self.stop(slug)
        shutil.rmtree(self._home)

    def port(self, slug: str) -> int:
        return self._ports.setdefault(slug, free_port())

    def start(self, slug: str) -> None:
        data = self._home / slug
        if not data.exists():
            self._initialise(data)
        (data / "postmaster.pid").unlink(missing_ok=True)
        settings = {
            "port": self.port(slug),
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "fsync": "off",
            "shared_buffers": "16MB",
        }
        command = [str(self._programs.program("postgres")), "-D", str(data)]
        command += [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        with (self._home / f"{slug}.log").open("ab") as log:
            self._running[slug] = subprocess.Popen(
                [*_as_nobody(), *command], stdout=log, stderr=log, cwd="/"
            )
        for _ in range(_START_POLLS):
            assert self._running[slug].poll() is None, (self._home / f"{slug}.log").read_text()
            if _says_ready(data / "postmaster.pid"):
                return
            select.select([], [], [], _POLL_S)
        raise AssertionError((self._home / f"{slug}.log").read_text())

    def _initialise(self, data: Path) -> None:
        secret = self._home / "password"
        secret.write_text(self.password)
        user = account()
        if user is not None:
            os.chown(self._home, user.uid, user.gid)
            os.chown(secret, user.uid, user.gid)
        done = subprocess.run(
            [
                *(*_as_nobody(), str(self._programs.program("initdb")), "-D", str(data)),
                *("-U", "postgres", "-N", "--locale=C", "-A", "scram-sha-256"),
                f"--pwfile={secret}",
            ],
            capture_output=True,
            text=True,
            check=False,
            cwd="/",
        )
        assert done.returncode == 0, done.stderr

    def stop(self, slug: str) -> None:
        running = self._running.pop(slug, None)
        if running is not None:
            # As a pod that is deleted: clients are sent away.
            running.send_signal(signal.SIGINT)
            running.wait()

    def is_running(self, slug: str) -> bool:
        return slug in self._running

    def connect(
        self, slug: str, dbname: str = "postgres"
    ) -> psycopg.Connection[tuple[object, ...]]:
        return psycopg.connect(
            f"host=127.0.0.1 port={self.port(slug)} user=postgres dbname={dbname}",
            password=self.password,
            # In a database of SQL_ASCII every text would come as bytes.
            client_encoding="UTF8",
            autocommit=True,
        )

    def databases(self, slug: str) -> set[str]:
        """Databases of runs."""
        with self.connect(slug) as connection:
            rows = connection.execute("SELECT datname FROM pg_database").fetchall()
        return {str(row[0]) for row in rows if str(row[0]).startswith("groundspeed_")}

    def empty(self, slug: str) -> None:
        """Be as new, as a volume that was deleted."""
        was_running = self.is_running(slug)
        if not was_running:
            self.start(slug)
        for name in self.databases(slug):
            with self.connect(slug) as connection:
                connection.execute(
                    sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name))
                )
        if not was_running:
            self.stop(slug)


def _as_nobody() -> list[str]:
    user = account()
    if user is None:
        return []
    return ["setpriv", "--reuid", str(user.uid), "--regid", str(user.gid), "--clear-groups", "--"]


def _says_ready(path: Path) -> bool:
    try:
        return "ready" in path.read_text()
    except OSError:
        return False


class KubePostgres:
    """The controllers of StatefulSets, for one API server."""

    def __init__(self, kube: KubeServer, machine: Machine) -> None:
        self.kube = kube
        self.machine = machine
        self.started: list[str] = []
        self.executed: list[tuple[str, ...]] = []
        self._slugs: dict[str, str] = {}
        self._step = threading.RLock()
        kube.on_apply("StatefulSet", self._applied)
        kube.on_delete("StatefulSet", self._deleted)
        kube.on_delete("Pod", self._pod_gone)
        kube.on_delete("PersistentVolumeClaim", self._claim_gone)
        kube.on_exec(self._program)

    def reach(self, environment: EnvironmentPlan) -> Reached:
        return Reached(host="127.0.0.1", port=self.machine.port(environment.slug))

    def pod_of(self, slug: str) -> str:
        return next(f"{name}-0" for name, found in self._slugs.items() if found == slug)

    def end_pod(self, slug: str) -> None:
        """Delete the pod of a server; its StatefulSet makes another one."""
        self.kube.remove("Pod", self.pod_of(slug))

    def restart(self, slug: str, ended: dict[str, Any]) -> None:
        """Let its container end in the pod that stays, as the kernel does where memory is short."""
        name = self.pod_of(slug)
        with self._step:
            self.machine.stop(slug)
            self.machine.start(slug)
        status = {
            "name": servers.CONTAINER,
            "ready": True,
            "restartCount": 1,
            "state": {"running": {}},
            "lastState": {"terminated": ended},
        }
        self.kube.change("Pod", name, {"status": {"containerStatuses": [status]}})

    # -- what controllers do

    def _applied(self, _: KubeServer, made: Object) -> None:
        name = made["metadata"]["name"]
        slug = made["metadata"]["labels"][naming.ENVIRONMENT_LABEL]
        with self._step:
            self._slugs[name] = slug
            wanted = made["spec"].get("replicas", 1)
            if wanted and self.kube.object("Pod", f"{name}-0") is None:
                self._up(name, slug, made)
            elif not wanted and self.kube.object("Pod", f"{name}-0") is not None:
                self.kube.remove("Pod", f"{name}-0")

    def _up(self, name: str, slug: str, made: Object) -> None:
        claims = [self._claim(name, template) for template in _templates(made)]
        self.machine.start(slug)
        template = made["spec"]["template"]
        pod = ready_pod(
            f"{name}-0",
            labels=template["metadata"]["labels"],
            owner=made,
            container=servers.CONTAINER,
        )
        pod["spec"]["volumes"] = claims
        pod["spec"]["containers"] = template["spec"]["containers"]
        self.started.append(f"{name}-0")
        self.kube.put(pod)

    def _claim(self, name: str, template: Object) -> Object:
        claim = f"{template['metadata']['name']}-{name}-0"
        if self.kube.object("PersistentVolumeClaim", claim) is None:
            self.kube.put(
                {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "metadata": {"name": claim, "labels": template["metadata"]["labels"]},
                    "spec": template["spec"],
                    "status": {"phase": "Bound"},
                }
            )
        return {
            "name": template["metadata"]["name"],
            "persistentVolumeClaim": {"claimName": claim},
        }

    def _pod_gone(self, _: KubeServer, pod: Object) -> None:
        name = pod["metadata"]["name"].removesuffix("-0")
        with self._step:
            if name not in self._slugs:
                return
            self.machine.stop(self._slugs[name])
            made = self.kube.object("StatefulSet", name)
            if made is not None and made["spec"].get("replicas", 1):
                self._up(name, self._slugs[name], made)

    def _deleted(self, kube: KubeServer, made: Object) -> None:
        name = made["metadata"]["name"]
        if kube.object("Pod", f"{name}-0") is not None:
            kube.remove("Pod", f"{name}-0")
        with self._step:
            # Its pod may have gone with its owner.
            self.machine.stop(self._slugs[name])

    def _claim_gone(self, _: KubeServer, claim: Object) -> None:
        slug = claim["metadata"]["labels"][naming.ENVIRONMENT_LABEL]
        with self._step:
            self.machine.empty(slug)

    def _program(self, pod: str, container: str, argv: Sequence[str]) -> Sequence[str]:
        del pod, container
        self.executed.append(tuple(argv))
        # What is looked at is this machine's; nothing else is done for real.
        return argv if argv[0] == "cat" else ["true"]


def _templates(made: Object) -> list[Object]:
    return list(made["spec"].get("volumeClaimTemplates", []))
