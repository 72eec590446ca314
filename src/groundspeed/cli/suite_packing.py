"""A suite made fit to travel: its text, its scripts under plain names, and the plan made of both.

What is packed here is all that a runner elsewhere gets, so the plan is made from the packed form:
the one made from the same parts over there is the same.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from groundspeed import spec
from groundspeed.cli import suites
from groundspeed.errors import SpecError
from groundspeed.manifests import runner
from groundspeed.plan import Plan

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SUITE_FILE = "suite.yaml"
# Of what a ConfigMap may hold (1 MiB of values), less room for the list of what a run owns.
MOST_BYTES = 960 * 1024
_FOREIGN = re.compile(r"[^-._a-zA-Z0-9]+")
# Keys of the anchor that no script may have.
_TAKEN = frozenset(
    {
        SUITE_FILE,
        runner.ARGUMENTS_KEY,
        runner.DIGEST_KEY,
        runner.OPTIONS_KEY,
        runner.OWNED_KEY,
    }
)

Complaint = tuple[str, str]


class Packed(msgspec.Struct, frozen=True, kw_only=True):
    """A suite fit to travel. `files` has its text as suite.yaml, and each script by a plain name.

    `arguments` are the overrides that it is loaded with, the last of them ours where scripts got
    other names.
    """

    suite: spec.Suite
    plan: Plan
    files: dict[str, str]
    arguments: tuple[str, ...]


def pack(name_or_path: str, overrides: Sequence[str]) -> Packed:
    """Load a preset or a suite file as `suites.load` does, and pack it for a cluster.

    Raises SpecError, also for what cannot be measured from a pod and for what is too large.
    """
    # As on this machine: complaints then name the files that the user knows.
    suite, plan = suites.load(name_or_path, overrides)
    refuse_unfit(suite, name_or_path)
    text = suites.text_of(name_or_path)
    names = _plain_names([w.script for w in suite.workloads if isinstance(w, spec.ScriptWorkload)])
    arguments = tuple(overrides)
    if any(path != name for path, name in names.items()):
        arguments = (*arguments, _renamed(text, name_or_path, arguments, names))
    bodies = {w.name: w.script for w in plan.workloads}
    files = {SUITE_FILE: text} | {
        names[w.script]: bodies[w.name] or ""
        for w in suite.workloads
        if isinstance(w, spec.ScriptWorkload)
    }
    _refuse_large(files, arguments, name_or_path)
    packed_suite, packed_plan = suites.load_text(
        text, arguments, name=name_or_path, source=plan.source, scripts=files
    )
    return Packed(suite=packed_suite, plan=packed_plan, files=files, arguments=arguments)


def refuse_unfit(suite: spec.Suite, name: str) -> None:
    """Raise SpecError, all in one, for what a run in a cluster cannot measure as it is asked."""
    complaints = [*_suite_complaints(suite, name)]
    for environment, asked in suite.environments.items():
        complaints += _environment_complaints(asked, f"{name}: environments.{environment}")
    if complaints:
        raise SpecError(*complaints[0], further=tuple(complaints[1:]))


def _suite_complaints(suite: spec.Suite, name: str) -> list[Complaint]:
    found = []
    if suite.engine != spec.POSTGRES:
        what = f"{name}: engine {suite.engine}: on Kubernetes only postgres is measured"
        found.append((what, "run it without --on kubernetes"))
    if suite.postgres.bin_dir is not None:
        what = f"{name}: postgres.bin_dir names a folder of this machine"
        found.append((what, "leave it out: the image of the runner has pgbench"))
    return found


def _environment_complaints(asked: object, where: str) -> list[Complaint]:
    if isinstance(asked, spec.EmbeddedEnvironment):
        what = f"{where}: target embedded would measure the pod of the runner"
        return [(what, "give it target: kubernetes, or run it without --on kubernetes")]
    if isinstance(asked, spec.ServerEnvironment) and (
        asked.password is not None or asked.password_env is not None
    ):
        what = f"{where}: a password of this machine does not reach the cluster"
        return [(what, "give it target: kubernetes with a service and its secret")]
    return []


def _plain_names(paths: Sequence[str]) -> dict[str, str]:
    """Give each path a name that a key of a ConfigMap can have, its own where that will do."""
    found: dict[str, str] = {}
    for path in dict.fromkeys(paths):
        stem = _FOREIGN.sub("-", Path(path).name).lstrip(".") or "script"
        name, number = stem, 2
        while name in _TAKEN or name in found.values():
            name, number = f"{number}-{stem}", number + 1
        found[path] = name
    return found


def _renamed(text: str, source: str, overrides: Sequence[str], names: Mapping[str, str]) -> str:
    """Word the override that gives scripts their new names; all else of the suite stays."""
    data: Any = spec.parse_yaml(text, source)
    for assignment in overrides:
        spec.apply_override(data, assignment)
    workloads = [
        {**each, "script": names[each["script"]]}
        if isinstance(each, dict) and "script" in each
        else each
        for each in data["workloads"]
    ]
    # JSON is YAML, but for its pairs of surrogates.
    return f"workloads={json.dumps(workloads, ensure_ascii=False)}"


def _refuse_large(files: Mapping[str, str], arguments: Sequence[str], name: str) -> None:
    sizes = {key: len(text.encode()) for key, text in files.items()}
    total = sum(sizes.values()) + len(json.dumps(arguments).encode())
    if total <= MOST_BYTES:
        return
    largest = max(sizes, key=lambda key: sizes[key])
    raise SpecError(
        f"{name}: with its scripts it has {total:,} bytes, a ConfigMap holds {MOST_BYTES:,}",
        f"make it smaller, {largest} has {sizes[largest]:,} of them",
    )
