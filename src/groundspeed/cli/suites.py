"""Finds and loads a suite, and makes its plan: the shared first step of run, plan and doctor."""

from __future__ import annotations

import difflib
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

from groundspeed import __version__, plan, presets, spec
from groundspeed.cli import profile_files
from groundspeed.cli.suite_published import check_published
from groundspeed.errors import SpecError
from groundspeed.spec import conninfo
from groundspeed.storage import encode
from groundspeed.tools import engines
from groundspeed.tools.engine_ask import EngineAsk

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_SUFFIXES = (".yaml", ".yml")


def load(name_or_path: str, overrides: Sequence[str]) -> tuple[spec.Suite, plan.Plan]:
    """Load a preset or a suite file and make its plan.

    Relative storage directories are taken from the current directory, script and profile files
    from the directory of the suite. Raises SpecError.
    """
    text, source, folder = _read(name_or_path)
    suite = _suite_of(text, overrides, name_or_path)
    scripts = _scripts(suite, folder, name_or_path)
    profiles = _profiles(suite, folder, name_or_path)
    return suite, _plan_of(suite, source, scripts, profiles)


def load_text(
    text: str, overrides: Sequence[str], *, name: str, source: str, scripts: Mapping[str, str]
) -> tuple[spec.Suite, plan.Plan]:
    """Make the plan of a suite that is no file here; `scripts` are by the names it has for them.

    `name` is what complaints start with. Raises SpecError.
    """
    suite = _suite_of(text, overrides, name)
    return suite, _plan_of(suite, source, scripts, _profiles(suite, Path.cwd(), name))


def text_of(name_or_path: str) -> str:
    """Read a preset or a suite file as it is written. Raises SpecError."""
    return _read(name_or_path)[0]


def _suite_of(text: str, overrides: Sequence[str], name: str) -> spec.Suite:
    suite = _with_absolute_paths(spec.load_suite(text, source=name, overrides=overrides))
    check_published(suite)
    return suite


def _plan_of(
    suite: spec.Suite,
    source: str,
    scripts: Mapping[str, str],
    profiles: Mapping[str, plan.ResolvedProfile],
) -> plan.Plan:
    return plan.make_plan(
        suite,
        source=source,
        rng=random.Random(suite.seed),  # noqa: S311 - an order, not a secret; must be repeatable
        groundspeed_version=__version__,
        scripts=scripts,
        profiles=profiles,
        engine=_engine(suite),
    )


def _engine(suite: spec.Suite) -> plan.ResolvedEngine | None:
    """Let the engine of a suite spell out what only it understands."""
    resolve = engines.find(suite.engine).resolve
    if resolve is None:
        return None
    options: dict[str, Mapping[str, Any]] = {}
    settings: dict[str, dict[str, str]] = {}
    for name, asked in suite.environments.items():
        options[name] = asked.options
        if not isinstance(asked, spec.EmbeddedEnvironment):
            continue
        settings[name] = plan.setting_texts({**suite.settings, **asked.settings})
        if asked.replica is not None:
            options[plan.replica_name(name)] = asked.replica.options
            settings[plan.replica_name(name)] = plan.setting_texts(asked.replica.settings)
    loads = {w.name: w.load for w in suite.workloads if isinstance(w, spec.LoadWorkload)}
    measure = suite.measure
    return resolve(
        EngineAsk(
            loads=loads,
            options=options,
            settings=settings,
            longest_load_s=max(
                measure.duration,
                *(w.duration or 0.0 for w in suite.workloads if isinstance(w, spec.LoadWorkload)),
            )
            + measure.warm_up,
            clients=max(suite.clients),
            addresses={
                name: asked.dsn
                for name, asked in suite.environments.items()
                if isinstance(asked, spec.ServerEnvironment)
            },
        )
    )


def passwords(suite: spec.Suite) -> dict[str, str]:
    """Gather the passwords of given servers, by environment; those without one are left out.

    Raises SpecError when a variable that password_env names is not set.
    """
    found: dict[str, str] = {}
    for name, environment in suite.environments.items():
        if not isinstance(environment, spec.ServerEnvironment):
            continue
        if environment.password_env is not None:
            found[name] = _from_variable(name, environment.password_env)
        elif environment.password is not None:
            found[name] = environment.password.get_secret_value()
    return found


def passwords_of_plan(planned: plan.Plan) -> dict[str, str]:
    """Gather the passwords again for a run that goes on, whose plan holds none.

    One that was written in the DSN is looked up in the suite file, if that still has the same
    server. Raises SpecError when a variable that password_env names is not set.
    """
    found: dict[str, str] = {}
    for environment in planned.environments:
        if environment.password_env is not None:
            found[environment.name] = _from_variable(environment.name, environment.password_env)
        elif environment.dsn is not None:
            inline = _inline_password(planned.source, environment)
            if inline is not None:
                found[environment.name] = inline
    return found


def expected_conninfo(planned: plan.Plan, environment: plan.EnvironmentPlan) -> str:
    """Stand in for the address that is known only when the server runs."""
    if environment.cluster is not None:
        service = environment.cluster.service
        if service is None:
            # The name of its Service has the name of the run in it.
            return "host=SERVER user=postgres dbname=groundspeed"
        return f"host={service.host} port={service.port} user=USER dbname=groundspeed"
    if environment.dsn is None:
        return engines.find(planned.engine).own_address
    if planned.engine != plan.POSTGRES:
        return environment.dsn
    return conninfo.made_of(environment.dsn, dbname="groundspeed")


def _inline_password(source: str, environment: plan.EnvironmentPlan) -> str | None:
    try:
        text = Path(source).read_text(encoding="utf-8")
        asked = spec.load_suite(text, source=source).environments.get(environment.name)
    except (OSError, UnicodeDecodeError, SpecError):
        return None
    if not isinstance(asked, spec.ServerEnvironment) or asked.password is None:
        return None
    # Only for the server it was written for: the file may have been changed since.
    return asked.password.get_secret_value() if asked.dsn == environment.dsn else None


def _from_variable(environment: str, variable: str) -> str:
    value = os.environ.get(variable)
    if value is None:
        raise SpecError(
            f"environments.{environment}.password_env: {variable} is not set",
            f"export {variable} in the shell that starts groundspeed",
        )
    return value


def _read(name_or_path: str) -> tuple[str, str, Path]:
    """Read a suite: its text, its source for the plan, and the folder of its scripts."""
    if name_or_path in presets.names():
        return presets.read(name_or_path), name_or_path, Path.cwd()
    path = Path(name_or_path)
    try:
        return path.read_text(encoding="utf-8"), str(path.absolute()), path.absolute().parent
    except FileNotFoundError:
        raise SpecError(*_not_found(name_or_path)) from None
    except UnicodeDecodeError:
        raise SpecError(f"{path}: not UTF-8", "a suite file is UTF-8 text in YAML") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a path"
        raise SpecError(
            f"{name_or_path}: {reason}", "name a suite file you may read, or a preset"
        ) from None


def _not_found(name_or_path: str) -> tuple[str, str]:
    path = Path(name_or_path)
    looks_like_file = path.suffix in _SUFFIXES or len(path.parts) > 1
    choices = list(presets.names())
    if path.parent.is_dir():
        choices += [str(p) for p in sorted(path.parent.iterdir()) if p.suffix in _SUFFIXES]
    near = difflib.get_close_matches(name_or_path, choices, n=1)
    what = "no such file" if looks_like_file else "no preset or file of that name"
    hint = f"did you mean {near[0]}?" if near else f"presets are {', '.join(presets.names())}"
    return f"{name_or_path}: {what}", hint


def _scripts(suite: spec.Suite, folder: Path, source: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for index, workload in enumerate(suite.workloads):
        if not isinstance(workload, spec.ScriptWorkload):
            continue
        path = folder / Path(workload.script).expanduser()
        where = f"{source}: workloads.{index}.script"
        try:
            found[workload.script] = path.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            raise SpecError(f"{where}: {path} is not UTF-8", "save it as UTF-8") from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "not a path"
            raise SpecError(
                f"{where}: {path}: {reason}",
                "paths of scripts are relative to the suite file",
            ) from None
    return found


def _profiles(suite: spec.Suite, folder: Path, source: str) -> dict[str, plan.ResolvedProfile]:
    """Find the storage profile of each environment that emulates one.

    The plan carries it whole: a run that goes on next year emulates the same device.
    """
    found: dict[str, plan.ResolvedProfile] = {}
    for name, environment in suite.environments.items():
        if not isinstance(environment, spec.EmbeddedEnvironment):
            continue
        where = f"{source}: environments.{name}"
        asked = [(name, environment.storage, where)]
        if environment.replica is not None:
            replica = plan.replica_name(name)
            asked.append((replica, environment.replica.storage, f"{where}.replica"))
        for owner, storage, place in asked:
            if storage.emulate is not None:
                found[owner] = _profile(storage, folder, f"{place}.storage.emulate")
    return found


def _profile(storage: spec.Storage, folder: Path, where: str) -> plan.ResolvedProfile:
    assert storage.emulate is not None  # noqa: S101 - asked for by the caller
    parameters = {key: str(value) for key, value in storage.provision.items()}
    profile = profile_files.find(storage.emulate, parameters, folder=folder, where=where)
    return plan.ResolvedProfile(label=profile.label, json=encode.encode_json(profile))


def _with_absolute_paths(suite: spec.Suite) -> spec.Suite:
    # A run may be resumed from elsewhere, so the plan holds no path that depends on where it was
    # made.
    environments = {
        name: _absolute(environment)
        if isinstance(environment, spec.EmbeddedEnvironment)
        else environment
        for name, environment in suite.environments.items()
    }
    postgres = suite.postgres.model_copy(update={"bin_dir": _absolute_path(suite.postgres.bin_dir)})
    return suite.model_copy(update={"environments": environments, "postgres": postgres})


def _absolute(environment: spec.EmbeddedEnvironment) -> spec.EmbeddedEnvironment:
    update: dict[str, Any] = {
        "storage": _absolute_storage(environment.storage),
        "bin_dir": _absolute_path(environment.bin_dir),
    }
    if environment.replica is not None:
        update["replica"] = environment.replica.model_copy(
            update={"storage": _absolute_storage(environment.replica.storage)}
        )
    return environment.model_copy(update=update)


def _absolute_storage(storage: spec.Storage) -> spec.Storage:
    return storage.model_copy(
        update={
            "directory": _absolute_path(storage.directory),
            "wal_directory": _absolute_path(storage.wal_directory),
        }
    )


def _absolute_path(path: str | None) -> str | None:
    # normpath and not resolve(): a symbolic link is the user's choice and may change its target.
    return None if path is None else os.path.normpath(Path(path).expanduser().absolute())
