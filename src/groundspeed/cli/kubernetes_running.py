"""`groundspeed run --on kubernetes`, and its resume: from a suite to a Job that is followed.

What the run is called and where it is stands on this disk before anything is made there.
"""

from __future__ import annotations

import json
import secrets
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click
import msgspec

from groundspeed import store
from groundspeed.analyse.guards import refuse_confounded
from groundspeed.cli import kubernetes_runs
from groundspeed.cli.kubernetes_attaching import attach, say_how_to_go_on
from groundspeed.cli.kubernetes_following import JobState, job_state
from groundspeed.cli.kubernetes_runs import ClusterRun, Found
from groundspeed.cli.kubernetes_submitting import Shipped, check, submit, with_evidence
from groundspeed.cli.plan_command import guard_lines, plan_guards, summary
from groundspeed.cli.run_names import new_run_id
from groundspeed.cli.suite_packing import pack
from groundspeed.errors import GroundspeedError, TargetError, UsageError
from groundspeed.kube.client import connect
from groundspeed.kube.waiting import wait_gone
from groundspeed.manifests import runner

if TYPE_CHECKING:
    from collections.abc import Sequence

    from groundspeed.cli.kubernetes_options import KubernetesOptions
    from groundspeed.kube.api import Api
    from groundspeed.plan import Plan

_GONE_LIMIT_S = 180.0


class Wished(msgspec.Struct, frozen=True, kw_only=True):
    """How `groundspeed run` was called, beside the suite."""

    results_dir: Path
    is_detached: bool
    is_strict: bool
    is_agreed: bool
    as_json: bool


def run_in_cluster(
    suite: str, overrides: Sequence[str], kubernetes: KubernetesOptions, wished: Wished
) -> None:
    """Plan a suite, look whether the cluster can take it, make its Job and follow it.

    Raises SpecError, TargetError with all that is missing, and as `attach` does.
    """
    packed = pack(suite, overrides)
    plan, shipped = packed.plan, Shipped(files=packed.files, arguments=packed.arguments)
    guarded = plan_guards(plan)
    for line in (*summary(plan), *guard_lines(guarded)):
        _say(line)
    if wished.is_strict:
        refuse_confounded(guarded)
    place = kubernetes_runs.resolve(kubernetes.connection)
    with connect(context=place.context, namespace=place.namespace) as api:
        run = _run(api, plan, kubernetes, place.context, wished.results_dir)
        where = f"context {run.context}" if run.context else "the cluster of this pod"
        _say(f"{where}, namespace {run.namespace}: run {run.run_id}")
        check(api, plan, run, shipped)
        _ask(wished)
        found = _begin(api, plan, run, shipped, wished.results_dir)
        if wished.is_detached:
            say_how_to_go_on(found)
            return
        attach(api, found, as_json=wished.as_json, strict=wished.is_strict)


def _say(line: str) -> None:
    click.echo(line, err=True)


def _ask(wished: Wished) -> None:
    if wished.is_agreed or not sys.stdin.isatty():
        return
    if not click.confirm("start?", default=True, err=True):
        raise UsageError("not started", "groundspeed plan shows each trial")


def _run(
    api: Api, plan: Plan, kubernetes: KubernetesOptions, context: str | None, results_dir: Path
) -> ClusterRun:
    # With a part by chance: others start runs in the same second, into the same cluster.
    run_id = f"{new_run_id(plan, results_dir)}-{secrets.token_hex(2)}"
    options = kubernetes.runner(namespace=api.namespace, cluster_evidence=False)
    options = with_evidence(api, plan, run_id, options, asked=kubernetes.cluster_evidence)
    return ClusterRun(run_id=run_id, context=context, namespace=api.namespace, options=options)


def _begin(api: Api, plan: Plan, run: ClusterRun, shipped: Shipped, results_dir: Path) -> Found:
    run_dir = store.create_run(results_dir, plan, run.run_id)
    kubernetes_runs.write(run_dir, run)
    try:
        submit(api, plan, run, shipped)
    except GroundspeedError as error:
        left = (
            f"run {run.run_id} was not started, some of it may be in the cluster",
            f"groundspeed resume {run_dir} tries again; clean --run {run_dir} removes it",
        )
        further = (*error.further, left)
        raise TargetError(error.message, error.hint, further=further) from None
    _say(f"run:    {run_dir}")
    return Found(run=run, run_dir=run_dir)


def resume_in_cluster(run: ClusterRun, run_dir: Path, *, as_json: bool) -> None:
    """Make the Job of a run again where it is not there or has ended, and follow it.

    The claim with its results is the same, so no trial is measured twice. Raises TargetError when
    nothing of the run is in the cluster any more, and as `attach` does.
    """
    plan = store.read_plan(run_dir)
    found = Found(run=run, run_dir=run_dir)
    with connect(context=run.context, namespace=run.namespace) as api:
        state = job_state(api.get(run.job))
        if state is not JobState.OPEN:
            _again(api, plan, run, state)
        attach(api, found, as_json=as_json)


def _again(api: Api, plan: Plan, run: ClusterRun, state: JobState) -> None:
    anchor = api.get(run.anchor)
    if anchor is None:
        raise TargetError(
            f"run {run.run_id} is not in namespace {run.namespace} any more",
            "start a new run; groundspeed report shows what this one measured",
        )
    if state is not JobState.ABSENT:
        api.delete(run.job, propagation="Foreground")
        wait_gone(api, [run.job], limit_s=_GONE_LIMIT_S)
    data = anchor["data"]
    shipped = Shipped(files=data, arguments=tuple(json.loads(data[runner.ARGUMENTS_KEY])))
    submit(api, plan, msgspec.structs.replace(run, options=runner.options_of(anchor)), shipped)
    _say(f"run {run.run_id} goes on")
