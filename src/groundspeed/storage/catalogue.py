"""The catalogue of storage profiles: packaged YAML files, found by name and provisioned.

Reading packaged data is the one thing it reads; files of the user's own are read by `cli`.
"""

from __future__ import annotations

import difflib
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from groundspeed import spec
from groundspeed.errors import SpecError
from groundspeed.storage import decode, profiles, provision

if TYPE_CHECKING:
    from collections.abc import Mapping

    from groundspeed.storage.profile import Profile

_SUFFIX = ".yaml"
_NOTHING: Mapping[str, str] = {}


@lru_cache(maxsize=1)
def names() -> tuple[str, ...]:
    """List the profiles of the catalogue by name."""
    files = resources.files(profiles).iterdir()
    return tuple(
        sorted(file.name.removesuffix(_SUFFIX) for file in files if file.name.endswith(_SUFFIX))
    )


def read(name: str) -> str:
    """Read the YAML of a profile. Raises SpecError when there is none of that name."""
    # Looked up in the list and never joined to a path as given: a name is not a way out of here.
    if name not in names():
        near = difflib.get_close_matches(name, names(), n=1)
        hint = f"did you mean {near[0]}?" if near else f"profiles are {', '.join(names())}"
        raise SpecError(f"{name}: no such profile", hint)
    return resources.files(profiles).joinpath(name + _SUFFIX).read_text(encoding="utf-8")


def profile(name: str, parameters: Mapping[str, str] = _NOTHING) -> Profile:
    """Make a profile of the catalogue, with what is provisioned: {"iops": "16000"}.

    Raises SpecError when there is none of that name, or it takes no such parameter.
    """
    return parse(read(name), parameters, source=name)


def parse(text: str, parameters: Mapping[str, str] = _NOTHING, *, source: str) -> Profile:
    """Make a profile from YAML text. Raises SpecError; `source` is what complaints start with."""
    return load(spec.parse_yaml(text, source), parameters, source=source)


def load(
    asked: object, parameters: Mapping[str, str] = _NOTHING, *, source: str = "profile"
) -> Profile:
    """Make a profile from a name of the catalogue or from decoded YAML.

    Raises SpecError with every complaint found; `source` is what those on YAML start with.
    """
    if isinstance(asked, str):
        return profile(asked, parameters)
    written = decode.check(asked, source=source)
    made = decode.to_profile(written, _base)
    return provision.provision(made, written.provisioning, parameters, base=_base)


def parameters_of(name: str) -> tuple[provision.Parameter, ...]:
    """List what can be provisioned of a profile. Raises SpecError when there is none."""
    written = decode.check(spec.parse_yaml(read(name), name), source=name)
    return provision.parameters_of(written.provisioning)


def _base(name: str) -> Profile:
    """Find a profile whose device can be a replica: one device and nothing around it."""
    based_on = profile(name)
    if based_on.front is not None or based_on.replication is not None:
        raise SpecError(
            f"{name}: is more than one device, so it cannot be a replica",
            "name one such as local-sata-plp, local-nvme-plp or aws-gp3",
        )
    return based_on
