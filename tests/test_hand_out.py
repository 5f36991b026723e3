"""`make student` and `make teacher`: the notebooks that a lecturer hands out."""

import shutil
import subprocess

import nbformat
import pytest


@pytest.fixture(scope="module")
def notebooks(pytestconfig):
    """name → the chapter, and what a student and a teacher get."""
    if shutil.which("make") is None:
        pytest.skip("no make")
    root = pytestconfig.rootpath
    # -o: the environment that runs this test is good enough
    subprocess.run(["make", "-o", ".venv/ready", "student", "teacher"], cwd=root, check=True, capture_output=True)
    chapters = sorted(root.glob("book/[0-9]*.ipynb"))
    folders = (root / "book", root / "_build/student", root / "_build/teacher")
    return {c.stem: [nbformat.read(folder / c.name, as_version=4) for folder in folders] for c in chapters}


def solution_cells(notebook):
    """Those from {solution-start} to {solution-end}, found without their tags."""
    inside, cells = False, []
    for cell in notebook.cells:
        inside |= "{solution-start}" in cell.source
        if inside:
            cells.append(cell)
        inside &= "{solution-end}" not in cell.source
    return cells


def test_students_get_everything_but_the_solutions(notebooks):
    for name, (chapter, student, _) in notebooks.items():
        solutions = solution_cells(chapter)
        assert len(solutions) >= 9, f"{name}: three exercises, each with a start, a text or code, and an end"
        kept = [cell.source for cell in chapter.cells if cell not in solutions]
        assert [cell.source for cell in student.cells] == kept, name
        handed_out = "\n".join(kept)
        assert "solution-" not in handed_out, name
        for cell in solutions:
            assert cell.source not in handed_out, f"{name}: {cell.source}"


def test_checks_stay_and_a_blank_comes_before_any_solution(notebooks):
    """Up to the first blank the cells are the chapter's own, which the tests of notebooks run."""
    for name, (chapter, student, _) in notebooks.items():
        assert sum("check." in cell.source for cell in student.cells) >= 3, name
        blank = next(n for n, cell in enumerate(student.cells) if "= ..." in cell.source)
        assert chapter.cells.index(solution_cells(chapter)[0]) > blank, name


def test_no_cell_needs_a_name_from_a_solution(pytestconfig, notebooks):
    subprocess.run(
        ["ruff", "check", "--isolated", "--select", "F821", pytestconfig.rootpath / "_build/student"], check=True
    )


def test_teachers_get_the_whole_chapter(notebooks):
    for name, (chapter, _, teacher) in notebooks.items():
        assert [cell.source for cell in teacher.cells] == [cell.source for cell in chapter.cells], name
        assert not any(cell.get("outputs") for cell in teacher.cells), name
