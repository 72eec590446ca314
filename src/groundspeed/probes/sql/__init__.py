"""What is asked of a server, one file a question, named by what it asks.

Where the answer moved between versions there is a file for each, `name-N.sql` with the first major
version it is for. Columns are named as the fields that they fill. It runs nothing.
"""

from __future__ import annotations

from functools import cache
from importlib import resources

_SUFFIX = ".sql"
_NUMBERS_OF_A_MAJOR = 10_000


@cache
def statement(name: str, version_num: int) -> str | None:
    """Read the newest statement of a name that is not newer than the server.

    `version_num` is server_version_num (160004). None where the server is older than all of them.
    """
    major = version_num // _NUMBERS_OF_A_MAJOR
    fitting: dict[int, str] = {}
    for file in resources.files(__name__).iterdir():
        stem, dash, first = file.name.removesuffix(_SUFFIX).rpartition("-")
        if not (dash and first.isdigit()):
            stem, first = file.name.removesuffix(_SUFFIX), "0"
        if file.name.endswith(_SUFFIX) and stem == name and int(first) <= major:
            fitting[int(first)] = file.read_text(encoding="utf-8")
    return fitting[max(fitting)] if fitting else None
