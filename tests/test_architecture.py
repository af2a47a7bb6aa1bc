"""The house rules: import order of the rooms, small files, no branching on joint types."""

import ast
from pathlib import Path

import pytest


SOURCE = Path(__file__).parents[1] / "src" / "linkax"
ORDER = ["math", "solve", "spatial", "joints", "model", "io", "kinematics", "dynamics", "forces"]
ORDER += ["constraints", "maximal", "system", "simulate", "optimise", "view", "cli"]
LEVEL = {room: level for level, room in enumerate(ORDER)}
FILES = sorted(SOURCE.rglob("*.py"))
FILE_LINES, FUNCTION_LINES = 400, 60


def room_of(path: Path) -> str | None:
    parts = path.relative_to(SOURCE).parts
    return parts[0] if len(parts) > 1 else None


def imported_rooms(tree: ast.AST) -> list[str]:
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
        elif isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
    return [name.split(".")[1] for name in names if name.startswith("linkax.")]


def test_there_are_files_to_judge():
    assert len(FILES) > 40
    assert {room_of(path) for path in FILES} - {None} <= set(ORDER)


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_a_room_imports_only_rooms_above_it(path):
    room = room_of(path)
    if room is None:
        return
    for other in imported_rooms(ast.parse(path.read_text())):
        # `io` reads files into the descriptions of `model`; the command uses every room.
        assert other == room or LEVEL[other] < LEVEL[room], f"{path.name} in {room} imports {other}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_files_and_functions_stay_small(path):
    text = path.read_text()
    assert len(text.splitlines()) <= FILE_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            length = node.end_lineno - node.lineno + 1
            assert length <= FUNCTION_LINES, f"{path.name}: {node.name} has {length} lines"


def test_nothing_is_configured_or_drawn_at_import():
    for path in FILES:
        tree = ast.parse(path.read_text())
        for node in tree.body:
            source = ast.unparse(node)
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                assert "matplotlib" not in source, path
                assert "IPython" not in source, path
            elif not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                assert "config.update" not in source, path


def test_the_library_sets_no_global_option():
    for path in FILES:
        if room_of(path) != "cli":
            assert "config.update" not in path.read_text(), path


def test_algorithms_do_not_branch_on_joint_types():
    joints = {"Revolute", "Prismatic", "Helical", "Cylindrical", "Universal", "Planar", "Spherical"}
    joints |= {"Floating", "Fixed"}
    for path in FILES:
        if room_of(path) in ("kinematics", "dynamics", "forces", "system", "simulate"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Name):
                    assert node.id not in joints, f"{path}: {node.id}"


def test_only_the_traversal_scans_over_bodies():
    for path in FILES:
        if room_of(path) in ("kinematics", "dynamics"):
            text = path.read_text()
            assert "lax.scan" not in text, path
            assert ".parents[" not in text, path


def test_forbidden_names_are_absent():
    for path in FILES:
        assert path.stem not in {"utils", "misc", "helpers", "manager", "handler"}, path
