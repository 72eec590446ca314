"""Options that every command with a cluster shares, and what they come to.

Each decorator gathers its options into one argument, so that a command passes them on whole.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import click
import msgspec

from groundspeed import __version__, units
from groundspeed.manifests.runner import RunnerOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    _Options = Mapping[str, Callable[[Callable[..., Any]], Callable[..., Any]]]

DEFAULT_IMAGE = f"groundspeed:{__version__}"
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_CONNECTION = ("context", "namespace")


class Connection(msgspec.Struct, frozen=True, kw_only=True):
    """Which cluster and which namespace were asked for; None takes those of the kubeconfig."""

    context: str | None = None
    namespace: str | None = None


class KubernetesOptions(msgspec.Struct, frozen=True, kw_only=True):
    """All options of a run in a cluster, as typed.

    `cluster_evidence` is None where it was not said: then it is seen where the caller may allow it.
    `given` names the options that were typed, as in --image, for a command that has to refuse them.
    """

    connection: Connection = Connection()
    image: str = DEFAULT_IMAGE
    pull_policy: str = "IfNotPresent"
    results_class: str | None = None
    results_bytes: int = 1024**3
    runner_cpu_count: float = 1.0
    runner_memory_bytes: int = 1024**3
    service_account: str | None = None
    cluster_evidence: bool | None = None
    ttl_s: int = 7 * 24 * 3600
    given: tuple[str, ...] = ()

    def runner(self, *, namespace: str | None, cluster_evidence: bool) -> RunnerOptions:
        """Tell what they ask of the runner, in a namespace, with or without what nodes tell."""
        return RunnerOptions(
            namespace=namespace,
            image=self.image,
            pull_policy=self.pull_policy,
            results_class=self.results_class,
            results_bytes=self.results_bytes,
            cpu_count=self.runner_cpu_count,
            memory_bytes=self.runner_memory_bytes,
            service_account=self.service_account,
            cluster_evidence=cluster_evidence,
            ttl_s=self.ttl_s,
        )


class _Quantity(click.ParamType[Any]):
    """A number with its unit, read by a function that raises ValueError."""

    def __init__(self, name: str, parse: Callable[[str], float]) -> None:
        self.name = name
        self._parse = parse

    def convert(
        self, value: str | float, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError as error:
            return self.fail(str(error), param, ctx)


def _size(text: str) -> int:
    if text.strip().isdigit():
        msg = f"{text!r} needs a unit, as in 1GiB"
        raise ValueError(msg)
    if not (found := units.parse_bytes(text)):
        msg = f"{text!r} leaves no room: write it as in 1GiB"
        raise ValueError(msg)
    return found


def _span(text: str) -> int:
    # One that is not above zero would take away what was measured at once.
    if (found := round(units.parse_duration_s(text))) < 1:
        msg = f"{text!r} is no time at all: write it as in 168h"
        raise ValueError(msg)
    return found


def _cores(text: str) -> float:
    try:
        found = int(text[:-1]) / 1000 if text.endswith("m") else float(text)
    except ValueError:
        found = 0.0
    if not 0 < found < float("inf"):
        msg = f"{text!r} is no number of cores: write it as in 2, 0.5 or 500m"
        raise ValueError(msg)
    return found


_OPTIONS = {
    "context": click.option(
        "--context", metavar="NAME", help="Context of the kubeconfig; else its current."
    ),
    "namespace": click.option(
        "-n", "--namespace", metavar="NAME", help="Namespace; else that of the context, or default."
    ),
    "image": click.option(
        "--image",
        metavar="IMAGE",
        envvar="GROUNDSPEED_IMAGE",
        default=DEFAULT_IMAGE,
        show_default=True,
        show_envvar=True,
        help="Image of groundspeed, as nodes pull it.",
    ),
    "pull_policy": click.option(
        "--pull-policy",
        type=click.Choice(_PULL_POLICIES),
        default="IfNotPresent",
        show_default=True,
        help="When nodes pull that image.",
    ),
    "results_class": click.option(
        "--results-class",
        metavar="CLASS",
        help="Storage class of the claim that keeps the results; else the cluster's default.",
    ),
    "results_bytes": click.option(
        "--results-size",
        "results_bytes",
        type=_Quantity("size", _size),
        default="1GiB",
        show_default=True,
        help="Size of that claim.",
    ),
    "runner_cpu_count": click.option(
        "--runner-cpu",
        "runner_cpu_count",
        type=_Quantity("cores", _cores),
        default="1",
        show_default=True,
        help="Cores of the runner and of each load generator: requested, and the limit.",
    ),
    "runner_memory_bytes": click.option(
        "--runner-memory",
        "runner_memory_bytes",
        type=_Quantity("size", _size),
        default="1GiB",
        show_default=True,
        help="Memory of each; half of it is for transaction logs.",
    ),
    "service_account": click.option(
        "--service-account",
        metavar="NAME",
        help="One that is there already, with its rights; none are made then.",
    ),
    "cluster_evidence": click.option(
        "--cluster-evidence/--no-cluster-evidence",
        default=None,
        help="Let the runner read nodes, volumes and storage classes; else where you may allow it.",
    ),
    "ttl_s": click.option(
        "--ttl",
        "ttl_s",
        type=_Quantity("duration", _span),
        default="168h",
        show_default=True,
        help="How long the cluster keeps the Job once it has ended; results stay.",
    ),
}

# Of what is printed, which asks no cluster.
_PRINTED = {name: option for name, option in _OPTIONS.items() if name != "context"} | {
    "namespace": click.option(
        "-n", "--namespace", metavar="NAME", help="Namespace of all that is printed; else none."
    ),
    "cluster_evidence": click.option(
        "--cluster-evidence/--no-cluster-evidence",
        default=None,
        help="Let the runner read nodes, volumes and storage classes; else not.",
    ),
}


def connection_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --context and --namespace; the command gets them as `connection`."""

    @functools.wraps(function)
    def gather(*arguments: object, **rest: Any) -> Any:  # noqa: ANN401 - as the command has them
        connection = Connection(**{name: rest.pop(name) for name in _CONNECTION})
        return function(*arguments, connection=connection, **rest)

    return _with(gather, _chosen(*_CONNECTION))


def kubernetes_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add all options of a run in a cluster; the command gets them as `kubernetes`."""
    return _gathering(function, _OPTIONS)


def manifest_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add those that show in manifests, which no cluster is asked for; they are `kubernetes`."""
    return _gathering(function, _PRINTED)


def pod_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add those of a pod that keeps no results; the command gets them as `kubernetes`."""
    sizes = ("runner_cpu_count", "runner_memory_bytes")
    names = (*_CONNECTION, "image", "pull_policy", *sizes, "service_account")
    return _gathering(function, _chosen(*names))


def rights_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add --namespace alone, for what is printed; the command gets it as `namespace`."""
    return _with(function, {"namespace": _PRINTED["namespace"]})


def _gathering(function: Callable[..., Any], options: _Options) -> Callable[..., Any]:
    @functools.wraps(function)
    def gather(*arguments: object, **rest: Any) -> Any:  # noqa: ANN401 - as the command has them
        found = {name: rest.pop(name) for name in options}
        connection = Connection(**{name: found.pop(name, None) for name in _CONNECTION})
        asked = KubernetesOptions(connection=connection, **found, given=_given())
        return function(*arguments, kubernetes=asked, **rest)

    return _with(gather, options)


def _with(function: Callable[..., Any], options: _Options) -> Callable[..., Any]:
    for option in reversed(tuple(options.values())):
        function = option(function)
    return function


def _chosen(*names: str) -> _Options:
    return {name: _OPTIONS[name] for name in names}


def _given() -> tuple[str, ...]:
    """Name those of our options that were typed; variables of the environment are no such wish."""
    context = click.get_current_context()
    typed = click.core.ParameterSource.COMMANDLINE
    return tuple(
        parameter.opts[-1]
        for parameter in context.command.params
        if parameter.name in _OPTIONS and context.get_parameter_source(parameter.name) is typed
    )
