"""`groundspeed k8s`: a run as YAML, the rights it takes, and a shell in a pod like the runner's."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING

import click

from groundspeed import __version__
from groundspeed.cli.arguments import DEFAULT_RESULTS, SUITE, example, overrides_option
from groundspeed.cli.kubernetes_options import (
    KubernetesOptions,
    manifest_options,
    pod_options,
    rights_options,
)
from groundspeed.cli.run_names import new_run_id
from groundspeed.cli.suite_packing import pack
from groundspeed.errors import UsageError
from groundspeed.manifests import caller_rights, naming, runner
from groundspeed.manifests.yaml_text import documents

if TYPE_CHECKING:
    from collections.abc import Iterable

    from groundspeed.cli.suite_packing import Packed
    from groundspeed.manifests.naming import Object
    from groundspeed.manifests.runner import RunnerOptions

# What is the same as a label, in a file's name and in a shell.
_RUN_ID = re.compile(r"[A-Za-z0-9]([-_.A-Za-z0-9]{0,61}[A-Za-z0-9])?")
_CALLER = """\
What starting, following, collecting and removing runs takes in the namespace.
Put a user or a group of yours in the place of benchmarkers.
Nobody may give a right away that is not theirs, so what begins with serviceaccounts is here
because each runner gets an account of its own. With the shared account below and
--service-account groundspeed-runner, all from serviceaccounts on can go."""
_CLUSTER = """\
For the whole cluster, and for some suites only. storageclasses and persistentvolumes: where a suite
brings its classes (gp3, longhorn, weka) or volumes (local). The rest: so that the runner may
read nodes and volumes for the report, which --no-cluster-evidence does without.
Not nodes/proxy, by which the kubelet tells its policies: whoever may read that may also start
programs in every pod of the node."""
_SHARED = """\
What a runner gets in its namespace, as an account that all of them can share. Without it, each run
makes one of its own: with these rights, less what its suite does not need, and for the
ConfigMap and the Lease of that run alone. No secrets: passwords come to the pod by name."""


@click.group(
    "k8s", epilog=example("groundspeed k8s render kubernetes-longhorn --run-id nightly > run.yaml")
)
def command() -> None:
    """Print a run in Kubernetes as YAML, or its rights; open a shell there.

    groundspeed run SUITE --on kubernetes does it all by itself.
    """


@command.command(
    "render",
    epilog=example(
        "groundspeed k8s render mine.yaml -n bench --run-id nightly > run.yaml",
        "kubectl apply --server-side -f run.yaml",
    ),
)
@click.argument("suite", type=SUITE)
@overrides_option
@click.option("--run-id", metavar="ID", help="Name of the run; else its time and its suite.")
@manifest_options
def render(
    suite: str, overrides: tuple[str, ...], run_id: str | None, kubernetes: KubernetesOptions
) -> None:
    """Print the Job that runs a suite and all that belongs to it, but for its Secret.

    SUITE is a suite file or the name of a preset. No cluster is asked. The same suite, options and
    ID give the same text. The line that makes the Secret goes to standard error.
    """
    namespace = kubernetes.connection.namespace
    if kubernetes.cluster_evidence and namespace is None:
        raise UsageError(
            "a right in the whole cluster is given to an account of one namespace",
            "name it with --namespace, or leave out --cluster-evidence",
        )
    packed = pack(suite, overrides)
    name = new_run_id(packed.plan, DEFAULT_RESULTS) if run_id is None else _checked(run_id)
    options = kubernetes.runner(
        namespace=namespace, cluster_evidence=bool(kubernetes.cluster_evidence)
    )
    head = f"Run {name} of suite {packed.plan.suite_name}, by groundspeed {__version__}."
    click.echo(_document(head, _objects(packed, name, options)), nl=False)
    if runner.makes_servers(packed.plan):
        click.echo("first, the password of the servers:", err=True)
        click.echo(secret_line(name, namespace), err=True)


def _objects(packed: Packed, run_id: str, options: RunnerOptions) -> tuple[Object, ...]:
    anchor = runner.anchor(
        packed.plan,
        run_id=run_id,
        options=options,
        suite_files=packed.files,
        overrides=packed.arguments,
    )
    # Nobody knows yet by which uid the anchor will be an owner; all is found by its labels.
    rest = runner.run_objects(packed.plan, run_id=run_id, options=options, owner=None)
    return (anchor, *rest)


def secret_line(run_id: str, namespace: str | None) -> str:
    """Word the line that makes the Secret of a run, with a password that nobody sees.

    Labelled before it is made: whoever may make a Secret need not be allowed to read one.
    """
    where = "" if namespace is None else f" --namespace {shlex.quote(namespace)}"
    label = f"{naming.RUN_LABEL}={naming.label_value(run_id)}"
    return (
        f"kubectl create secret generic {runner.credentials_name(run_id)}{where}"
        " --type=kubernetes.io/basic-auth --from-literal=username=postgres"
        ' --from-literal=password="$(head -c 24 /dev/urandom | base64 | tr +/ -_)"'
        f" --dry-run=client -o yaml | kubectl label --local -f - {label} -o yaml"
        " | kubectl create -f -"
    )


def _checked(run_id: str) -> str:
    if _RUN_ID.fullmatch(run_id) is None:
        raise UsageError(
            f"{run_id!r} is no name for a run",
            "at most 63 letters, digits and -_. between them, as in nightly-2",
        )
    return run_id


@command.command(
    "rights", epilog=example("groundspeed k8s rights --namespace bench | kubectl apply -f -")
)
@rights_options
def rights(namespace: str | None) -> None:
    """Print what the caller needs to be allowed, and what the runner gets, as YAML.

    For whoever gives rights in the cluster; nothing is asked or changed.
    """
    parts = (
        (_CALLER, caller_rights.caller_objects(namespace)),
        (_CLUSTER, caller_rights.cluster_objects()),
        (_SHARED, caller_rights.shared_account(namespace)),
    )
    click.echo("".join(_document(text, objects) for text, objects in parts), nl=False)


def _document(comment: str, objects: Iterable[Object]) -> str:
    lines = "".join(f"# {line}\n" for line in comment.splitlines())
    return f"{lines}{documents(objects)}"


@command.command("shell", epilog=example("groundspeed k8s shell --namespace bench --runner-cpu 2"))
@pod_options
def shell(kubernetes: KubernetesOptions) -> None:
    """Open a shell in a pod like the runner's: the same image, limits and hardening.

    It is removed when the shell ends, and by the cluster after four hours. It gets no rights but
    those of --service-account, and keeps nothing.
    """
    # Printing needs no client.
    from groundspeed.cli.kubernetes_shell import open_shell  # noqa: PLC0415

    open_shell(kubernetes)
