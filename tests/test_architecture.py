"""The plan of the house, held by reading imports: they point down, and below `run` there is no I/O.

See docs/architecture.md.
"""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "groundspeed"
FLOORS = (
    {"errors", "units"},
    {"native", "spec"},
    {"plan"},
    {"record"},
    {"manifests", "ports", "published", "stats", "storage", "tools"},
    {"analyse", "audit", "measurement"},
    {"deciding", "importing", "tune", "report"},
    {"kube"},
    {"run", "store", "targets", "probes", "presets"},
    {"cli"},
)
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
FIRST_FLOOR_WITH_IO = FLOOR_OF["kube"]
# native/ looks for the programs that are packaged with it; packaged data is the one exception.
MAY_LOOK = {"native"}
IO_MODULES = {"subprocess", "socket", "time", "os", "random", "pathlib", "tempfile", "shutil"}
FILES = sorted(SOURCE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imports_of(tree: ast.AST, *, for_types: bool = False) -> list[tuple[str, bool]]:
    """List (dotted name, whether for types alone); a from-import names each of its parts."""
    found: list[tuple[str, bool]] = []
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, for_types) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            found += [(f"{node.module}.{alias.name}", for_types) for alias in node.names]
        else:
            found += imports_of(node, for_types=for_types or is_type_checking(node))
    return found


def rooms_imported(path: Path) -> set[str]:
    """Rooms, types or not: also a type is knowledge of the room it comes from."""
    names = [name.split(".") for name, _ in imports_of(ast.parse(path.read_text()))]
    ours = {n[1] for n in names if n[0] == "groundspeed" and len(n) > 1}
    return ours - {"__version__"}


def test_every_room_has_a_floor() -> None:
    rooms = {room_of(path) for path in FILES} - {"__init__"}
    assert rooms <= set(FLOOR_OF)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_imports_point_down(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        assert not rooms_imported(path)
        return
    others = rooms_imported(path) - {room}
    assert others <= set(FLOOR_OF)
    assert {other for other in others if FLOOR_OF[other] >= FLOOR_OF[room]} == set()


@pytest.mark.parametrize(
    "path",
    [p for p in FILES if FLOOR_OF.get(room_of(p), 0) < FIRST_FLOOR_WITH_IO],
    ids=lambda path: str(path.relative_to(SOURCE)),
)
def test_there_is_no_io_below_run(path: Path) -> None:
    if room_of(path) in MAY_LOOK:
        return
    tree = ast.parse(path.read_text())
    modules = {name.split(".")[0] for name, for_types in imports_of(tree) if not for_types}
    assert modules & IO_MODULES == set()
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    assert [call.lineno for call in calls if isinstance(call, ast.Name) and call.id == "open"] == []


# The engine whose name may stand where engines are known, and nowhere else.
ENGINE = b"redis"
KNOW_ENGINES = {"tools", "targets", "probes", "presets", "published"}
# The audit reads articles about whatever they are about, and figures of devices cite their titles.
SPEAK_OF_ARTICLES = {Path("audit"), Path("storage/profiles")}
WRITTEN = {".py", ".c", ".h", ".yaml", ".json", ".html", ".css", ".js", ".md"}


def test_a_second_engine_is_known_only_where_engines_are() -> None:
    texts = [path for path in SOURCE.rglob("*") if path.suffix in WRITTEN]
    found = {
        str(inside)
        for path in texts
        for inside in [path.relative_to(SOURCE)]
        if ENGINE in path.read_bytes().lower()
        and room_of(path) not in KNOW_ENGINES
        and not any(inside.is_relative_to(other) for other in SPEAK_OF_ARTICLES)
    }
    assert found == set()
