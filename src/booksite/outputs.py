"""Run notebooks and store the outputs that a test can compare: `python -m booksite.outputs book/*.ipynb`.

What is stored is text: printed lines and results as plain text. Figures, tables' HTML and progress bars are made anew
at each build and never stored. A cell tagged `no-compare` (timings, say) stores nothing. The tests run every notebook
and compare what it prints with what is stored. Cells of solutions are tagged, so that they can be left out of what
students get.
"""

import os
import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

NO_COMPARE = "no-compare"
SOLUTION = "solution"
CELL_TIMEOUT = 300  # seconds, as in _config.yml


def comparable(output: dict) -> dict | None:
    """`output` reduced to what is compared, or None when nothing is left."""
    kind = output["output_type"]
    if kind == "stream":
        return output if output["name"] == "stdout" else None
    if kind == "error":  # of a cell tagged raises-exception
        return dict(output, traceback=[])
    text = output["data"].get("text/plain")
    return dict(output, data={"text/plain": text}, metadata={}) if text else None


def strip(notebook: nbformat.NotebookNode) -> None:
    """Leave in an executed `notebook` only what is compared, and nothing that changes from run to run."""
    notebook.metadata = {key: notebook.metadata[key] for key in ("kernelspec",) if key in notebook.metadata}
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        cell.metadata.pop("execution", None)
        if NO_COMPARE in cell.metadata.get("tags", []):
            # Without a count nbval takes the cell for one that was never run: it runs it and compares nothing.
            cell.outputs, cell.execution_count = [], None
            continue
        kept = [comparable(output) for output in cell.outputs]
        cell.outputs = [nbformat.from_dict(output) for output in kept if output]


def tag_solutions(notebook: nbformat.NotebookNode) -> None:
    """Tag every cell from {solution-start} to {solution-end} as "solution": `make student` leaves these out."""
    inside = False
    for cell in notebook.cells:
        inside |= "{solution-start}" in cell.source
        tags = [tag for tag in cell.metadata.get("tags", []) if tag != SOLUTION] + [SOLUTION] * inside
        if tags:
            cell.metadata["tags"] = tags
        inside &= "{solution-end}" not in cell.source


def store_outputs(path: Path) -> None:
    """Run the notebook at `path` in its folder and write it back. When it fails, the file stays as it was."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(
        notebook,
        timeout=CELL_TIMEOUT,
        kernel_name="python3",
        coalesce_streams=True,  # in how many pieces print arrives is chance
        resources={"metadata": {"path": str(path.parent)}},
    ).execute()
    strip(notebook)
    tag_solutions(notebook)
    handle, draft = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8") as file:
            nbformat.write(notebook, file)
        os.chmod(draft, path.stat().st_mode)
        os.replace(draft, path)
    except BaseException:
        os.unlink(draft)
        raise


def main(paths: list[str]) -> int:
    failed = 0
    for path in paths:
        try:
            store_outputs(Path(path))
            print(f"{path}: stored")
        except (CellExecutionError, OSError) as error:
            failed += 1
            print(f"{path}: unchanged, for it failed\n{error}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
