"""The suites that come with groundspeed, as packaged YAML files beside this module.

It lists and reads them; decoding and checking is `spec`'s, as for any other suite file.
"""

from __future__ import annotations

from importlib import resources

_SUFFIX = ".yaml"


def names() -> tuple[str, ...]:
    """List the presets by name."""
    files = resources.files(__name__).iterdir()
    return tuple(
        sorted(file.name.removesuffix(_SUFFIX) for file in files if file.name.endswith(_SUFFIX))
    )


def read(name: str) -> str:
    """Read the YAML of a preset. Raises KeyError when there is none of that name."""
    # Looked up in the list and never joined to a path as given: a name is not a way out of here.
    if name not in names():
        raise KeyError(name)
    return resources.files(__name__).joinpath(name + _SUFFIX).read_text(encoding="utf-8")
