"""A shell in a pod: makes the pod, waits for it, hands the terminal to kubectl, removes the pod.

A terminal over the API server (its size, its signals) is what kubectl does well; without it the
line to type is printed, for a machine that has it.
"""

from __future__ import annotations

import secrets
import shlex
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import click

from groundspeed.cli.session import signals_interrupt
from groundspeed.kube.client import connect
from groundspeed.kube.waiting import wait_for
from groundspeed.manifests import states
from groundspeed.manifests.collector import SHELL_CONTAINER, shell_pod
from groundspeed.manifests.naming import ref_of

if TYPE_CHECKING:
    from groundspeed.cli.kubernetes_options import KubernetesOptions
    from groundspeed.kube.api import Api
    from groundspeed.manifests.naming import Object, Ref
    from groundspeed.manifests.states import Trouble

# Pulling an image of half a gigabyte takes its time.
_START_LIMIT_S = 600.0


def open_shell(asked: KubernetesOptions) -> None:
    """Open a shell in a pod and remove it at the end, whatever happens. Raises TargetError."""
    connection = asked.connection
    with connect(context=connection.context, namespace=connection.namespace) as api:
        options = asked.runner(namespace=api.namespace, cluster_evidence=False)
        pod = shell_pod(f"groundspeed-shell-{secrets.token_hex(3)}", options=options)
        ref = ref_of(pod)
        with signals_interrupt():
            api.create(pod)
            try:
                click.echo(f"waiting for pod {ref.name} in namespace {ref.namespace}", err=True)
                wait_until_ready(api, ref)
                _work(command_line(ref, connection.context))
            finally:
                api.delete(ref)
                click.echo(f"removed pod {ref.name}", err=True)


def command_line(ref: Ref, context: str | None) -> list[str]:
    """Word the command that opens a shell in the pod."""
    where = [] if context is None else ["--context", context]
    terminal = "-it" if sys.stdin.isatty() else "-i"
    place = ["--namespace", ref.namespace or "default"]
    return [
        *("kubectl", *where, *place, "exec", terminal, ref.name),
        *("--container", SHELL_CONTAINER, "--", "bash"),
    ]


def wait_until_ready(api: Api, ref: Ref) -> None:
    """Wait for a pod. Raises TargetError with what keeps it from starting."""

    def trouble(pod: Object | None) -> Trouble | None:
        if pod is None:
            return None
        fields = {"involvedObject.uid": pod["metadata"]["uid"]}
        return states.pod_trouble(pod, api.list("v1", "Event", fields=fields))

    wait_for(
        api,
        ref,
        lambda pod: pod is not None and states.is_ready(pod),
        limit_s=_START_LIMIT_S,
        trouble=trouble,
    )


def _work(command: list[str]) -> None:
    program = shutil.which("kubectl")
    if program is not None:
        # Its exit code is that of the last command in the shell, which is nothing to us.
        subprocess.run([program, *command[1:]], check=False)
        return
    click.echo("there is no kubectl here; on a machine that has it:", err=True)
    click.echo(shlex.join(command))
    click.echo("Enter ends the pod", err=True)
    sys.stdin.readline()
