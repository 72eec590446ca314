"""Which cluster is meant, and as whom: the kubeconfig and a context in it, or the pod we are in.

Reading these files, running the plugins that make credentials and checking certificates is left to
the official client, which is imported here and not before: half a second that only a command for
Kubernetes has to wait.
"""

from __future__ import annotations

import logging
import os
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundspeed.errors import TargetError
from groundspeed.kube.refusals import one_line

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_DEFAULT = "~/.kube/config"


@dataclass(frozen=True, kw_only=True)
class Connection:
    """How a cluster is reached.

    `context` is None inside a pod. `log_in` reads the configuration of the client anew, and with it
    the credentials as they are now, as after a token has run out.
    """

    context: str | None
    namespace: str
    log_in: Callable[[], Any]

    @property
    def is_in_cluster(self) -> bool:
        """Whether it is the cluster of the pod we are in."""
        return self.context is None

    @property
    def cluster(self) -> str:
        """The name of the cluster for people."""
        return "this pod's cluster" if self.context is None else f"context {self.context}"


def find_connection(
    *,
    context: str | None = None,
    namespace: str | None = None,
    kubeconfig: str | None = None,
    environ: Mapping[str, str] = os.environ,
    account: Path = _ACCOUNT,
) -> Connection:
    """Find the cluster that is meant, in the order of kubectl: kubeconfig, then the pod's own.

    Raises TargetError when the client is not installed, or nothing says which cluster.
    """
    try:
        import kubernetes.config  # noqa: F401, PLC0415 - see above
    except ImportError as error:
        raise TargetError(
            "the Kubernetes client is not installed", "pip install 'groundspeed[kubernetes]'"
        ) from error
    paths = kubeconfig or environ.get("KUBECONFIG") or _DEFAULT
    files = [path for path in paths.split(os.pathsep) if path and Path(path).expanduser().exists()]
    if files:
        return _by_kubeconfig(paths, context, namespace)
    if kubeconfig is None and context is None and environ.get("KUBERNETES_SERVICE_HOST"):
        return _in_cluster(environ, account, namespace)
    asked = f": there is no {paths}" if kubeconfig or environ.get("KUBECONFIG") else ""
    raise TargetError(
        f"no Kubernetes cluster is configured{asked}",
        "set KUBECONFIG or --context; kubectl config get-contexts lists them",
    )


def _by_kubeconfig(paths: str, context: str | None, namespace: str | None) -> Connection:
    contexts, current = _contexts(paths)
    name = context or current
    if not name:
        raise TargetError(
            "no context of the kubeconfig is in use",
            "name one with --context; kubectl config get-contexts lists them",
        )
    if name not in contexts:
        near = get_close_matches(name, contexts) or sorted(contexts)[:5]
        raise TargetError(
            f"the kubeconfig has no context {name}",
            f"there is {', '.join(near)}" if near else "kubectl config get-contexts lists them",
        )
    return Connection(
        context=name,
        namespace=namespace or contexts[name].get("namespace") or "default",
        log_in=lambda: _log_in(paths, name),
    )


def _contexts(paths: str) -> tuple[dict[str, Mapping[str, Any]], str | None]:
    """Read contexts by name, and the one in use."""
    import yaml  # noqa: PLC0415 - see above
    from kubernetes.config import kube_config  # noqa: PLC0415 - see above
    from kubernetes.config.config_exception import ConfigException  # noqa: PLC0415 - see above

    try:
        merged = kube_config.KubeConfigMerger(paths).config.value
        found = {each.value["name"]: each.value["context"] for each in merged["contexts"]}
    except (ConfigException, OSError, yaml.YAMLError, KeyError, TypeError, AttributeError) as error:
        raise TargetError(
            one_line(f"the kubeconfig {paths} cannot be read: {error}"),
            "kubectl config view shows what is in it",
        ) from error
    return found, merged.get("current-context")


def _log_in(paths: str, context: str) -> Any:  # noqa: ANN401 - a Configuration, whatever its version
    from kubernetes import client, config  # noqa: PLC0415 - see above

    found = client.Configuration()
    said = _Said()
    # When a credentials plugin fails the client says so in the log of the whole process, and goes
    # on as nobody.
    logging.getLogger().addHandler(said)
    try:
        config.load_kube_config(config_file=paths, context=context, client_configuration=found)
    except (config.ConfigException, OSError, ValueError) as error:
        raise TargetError(
            one_line(f"context {context} of the kubeconfig cannot be used: {error}"),
            "kubectl config view --minify shows it",
        ) from error
    finally:
        logging.getLogger().removeHandler(said)
    if said.lines:
        raise TargetError(
            one_line(f"the credentials of context {context} cannot be had: {said.lines[0]}"),
            "log in to the cluster again; kubectl auth whoami tells whether it worked",
        )
    return found


class _Said(logging.Handler):
    """Keeps what the client complains of."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


def _in_cluster(environ: Mapping[str, str], account: Path, namespace: str | None) -> Connection:
    from kubernetes import client, config  # noqa: PLC0415 - see above
    from kubernetes.config.incluster_config import InClusterConfigLoader  # noqa: PLC0415 - see above

    def log_in() -> Any:  # noqa: ANN401 - a Configuration, whatever its version
        found = client.Configuration()
        loader = InClusterConfigLoader(
            token_filename=str(account / "token"),
            cert_filename=str(account / "ca.crt"),
            environ=environ,
        )
        try:
            loader.load_and_set(found)
        except (config.ConfigException, OSError) as error:
            raise TargetError(
                one_line(f"this pod has no service account to ask the API server with: {error}"),
                "set automountServiceAccountToken, or serviceAccountName, of the pod",
            ) from error
        return found

    own = account / "namespace"
    found = namespace or (own.read_text().strip() if own.exists() else "default")
    return Connection(context=None, namespace=found, log_in=log_in)
