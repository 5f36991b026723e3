"""The site's machinery without a browser: figures' HTML, stored outputs, the cache's folder, the local server."""

import json
import re
import subprocess
import sys
import types

import nbformat
import numpy as np
import plotly.graph_objects as go
import pytest
from docutils import nodes
from hypothesis import given
from hypothesis import strategies as st
from jupyter_cache import get_cache
from nbformat.v4 import new_code_cell, new_notebook

from booksite import extension, outputs, serve
from booksite.figure_html import MIME, BadFigureError, figure_html, round_step, shrink

MATRIX = np.random.default_rng(0).normal(size=(40, 50)).astype("float32")


def as_json(figure):
    """What a notebook stores for `figure`."""
    return json.loads(figure.to_json())


def restored(z, frame_before=None):
    """What book.js makes of a matrix in the page."""
    ints = np.array([np.nan if n is None else n for n in z["ints"]], dtype=float)
    rows, columns = z["shape"]
    if len(ints) < rows * columns:
        whole = np.zeros((rows, rows))
        whole[np.tril_indices(rows)] = ints
        ints = whole + np.tril(whole, -1).T
    matrix = (ints * z["step"]).reshape(rows, columns)
    return matrix + frame_before if z.get("changes") else matrix


def heatmap(z=MATRIX, meta=None, **kwargs):
    return go.Figure(go.Heatmap(z=z, **kwargs), layout={"meta": meta or {"alt": "what is seen"}})


class TestShrink:
    def test_error_is_within_a_thousandth_of_the_colour_range(self):
        small = shrink(as_json(heatmap(zmin=-2, zmax=2)))["data"][0]["z"]
        assert small["step"] == 0.005
        assert np.abs(restored(small) - MATRIX).max() <= 4 / 1000

    def test_range_of_a_shared_colour_axis(self):
        figure = heatmap(coloraxis="coloraxis").update_layout(coloraxis={"cmin": 0, "cmax": 100})
        assert shrink(as_json(figure))["data"][0]["z"]["step"] == 0.2

    def test_without_a_range_the_largest_entry_counts(self):
        step = shrink(as_json(heatmap()))["data"][0]["z"]["step"]
        assert np.abs(MATRIX).max() / 1250 <= step <= np.abs(MATRIX).max() / 500

    def test_frames_menus_and_sliders(self):
        figure = heatmap(zmin=-2, zmax=2)
        figure.frames = [go.Frame(name="1", data=[go.Heatmap(z=2 * MATRIX)], traces=[0])]
        call = {"method": "restyle", "args": [{"z": [3 * MATRIX]}, [0]]}
        figure.update_layout(updatemenus=[{"buttons": [call]}], sliders=[{"steps": [call]}])
        small = shrink(as_json(figure))
        layout = small["layout"]
        for factor, z in (
            (2, small["frames"][0]["data"][0]["z"]),
            (3, layout["updatemenus"][0]["buttons"][0]["args"][0]["z"][0]),
            (3, layout["sliders"][0]["steps"][0]["args"][0]["z"][0]),
        ):
            assert z["step"] == 0.005
            assert np.abs(restored(z) - factor * MATRIX).max() <= 4 / 1000

    def test_frames_hold_changes(self):
        stack = [MATRIX, MATRIX + 0.01, MATRIX + 0.03]
        figure = heatmap(zmin=-2, zmax=2)
        figure.frames = [go.Frame(name=str(k), data=[go.Heatmap(z=z)], traces=[0]) for k, z in enumerate(stack)]
        packed = [frame["data"][0]["z"] for frame in shrink(as_json(figure))["frames"]]
        assert [z.get("changes", False) for z in packed] == [False, True, True]
        before = None
        for z, expected in zip(packed, stack, strict=True):
            before = restored(z, before)
            assert np.abs(before - expected).max() <= 4 / 1000

    def test_symmetric_matrices_are_halved(self):
        gram = (MATRIX @ MATRIX.T).astype("float32")
        z = shrink(as_json(heatmap(z=gram, zmin=-2, zmax=2)))["data"][0]["z"]
        assert len(z["ints"]) == 40 * 41 / 2
        assert np.abs(restored(z) - gram).max() <= 4 / 1000

    def test_other_calls_stay(self):
        figure = heatmap().update_layout(
            updatemenus=[{"buttons": [{"method": "animate", "args": [None, {"fromcurrent": True}]}]}]
        )
        assert shrink(as_json(figure))["layout"]["updatemenus"] == as_json(figure)["layout"]["updatemenus"]

    def test_gaps_stay_gaps(self):
        z = MATRIX.copy()
        z[3, 4] = np.nan
        back = restored(shrink(as_json(heatmap(z=z)))["data"][0]["z"])
        assert np.array_equal(np.isnan(back), np.isnan(z))

    @pytest.mark.parametrize(
        "trace",
        [
            go.Heatmap(z=MATRIX[:3, :3]),
            go.Heatmap(z=(MATRIX > 0).astype("uint8")),
            go.Heatmap(z=np.zeros((50, 50), "float32")),
            go.Heatmap(z=np.full((50, 50), np.nan)),
            go.Heatmap(z=[[1, 2]] * 2000),
            go.Surface(z=MATRIX),
            go.Scatter(y=MATRIX.ravel()),
        ],
    )
    def test_everything_else_stays(self, trace):
        figure = as_json(go.Figure(trace))
        assert shrink(figure) == figure

    @given(st.floats(1e-300, 1e300))
    def test_round_step(self, bound):
        step = round_step(bound)
        assert step <= bound < 2.5 * step * (1 + 1e-9)
        assert re.fullmatch(r"[125](\.0)?(e.*)?", f"{step:.1e}")


def test_printed_sentences_may_break_and_tables_may_not():
    texts = [("a sentence with words  and a gap", ["output"]), ("a   b\n1   2", ["output"]), ("code", [])]
    page = nodes.section("", *(nodes.literal_block(text, text, classes=classes) for text, classes in texts))
    extension._let_lines_break(None, page)
    assert ["prose" in block["classes"] for block in page] == [True, False, False]


class TestFigureHtml:
    def test_page_holds_the_figure_and_its_description(self):
        figure = as_json(heatmap(meta={"alt": 'rows & "columns"', "narrow": {"height": 900}}).update_layout(height=300))
        html = figure_html(figure)
        assert 'aria-label="rows &amp; &quot;columns&quot;"' in html
        assert "--height:300px;--narrow-height:900px" in html
        text = re.search(f'<script type="{re.escape(MIME)}">(.*?)</script>', html, re.S)[1]
        assert json.loads(text) == shrink(figure)

    def test_a_figure_that_plays_says_so(self):
        assert "data-plays" not in figure_html(as_json(heatmap()))
        assert " data-plays " in figure_html(as_json(heatmap(meta={"alt": "what is seen", "plays": True})))

    def test_text_cannot_end_the_script(self):
        html = figure_html(as_json(heatmap().update_layout(title="</script><!--")))
        assert html.count("</script>") == 1
        assert "<!--" not in html

    @pytest.mark.parametrize("layout", [{}, {"meta": {}}, {"meta": {"alt": " "}}, {"meta": ["alt"]}])
    def test_missing_description(self, layout):
        with pytest.raises(BadFigureError, match=r"layout\.meta\.alt"):
            figure_html({"data": [], "layout": layout})

    @pytest.mark.parametrize("content", ["text", {}, {"data": {}}])
    def test_no_figure(self, content):
        with pytest.raises(BadFigureError, match="without a list of traces"):
            figure_html(content)

    def test_a_bad_figure_is_a_warning_of_the_build(self):
        warnings = []
        renderer = types.SimpleNamespace(
            logger=types.SimpleNamespace(warning=lambda message, **where: warnings.append((message, where)))
        )
        data = types.SimpleNamespace(mime_type=MIME, content={"data": []}, line=7)
        assert extension.PlotlyRenderer.handle_mime(renderer, data, inline=False) == []
        [(message, where)] = warnings
        assert "layout.meta.alt" in message
        assert where["line"] == 7

    def test_other_outputs_are_left_to_others(self):
        data = types.SimpleNamespace(mime_type="text/plain", content="3")
        assert extension.PlotlyRenderer.handle_mime(None, data, inline=False) is None


class TestSources:
    def build(self, root):
        app = types.SimpleNamespace(srcdir=root, outdir=root / "_build" / "html")
        config = types.SimpleNamespace()
        extension._note_sources(app, config)
        return config

    def test_changed_pins_empty_the_cache(self, tmp_path):
        pins = tmp_path / "requirements.txt"
        pins.write_text("numpy==1\n")
        first = self.build(tmp_path)
        assert self.build(tmp_path).nb_execution_cache_path == first.nb_execution_cache_path
        stale = tmp_path / "_build" / ".jupyter_cache" / "stale"
        stale.mkdir(parents=True)
        pins.write_text("numpy==2\n")
        assert self.build(tmp_path).nb_execution_cache_path != first.nb_execution_cache_path
        assert not stale.exists()

    def test_digest_sees_content_and_names(self, tmp_path):
        (tmp_path / "a.py").write_text("1")
        digests = {extension._digest(tmp_path)}
        (tmp_path / "a.py").write_text("2")
        digests.add(extension._digest(tmp_path))
        (tmp_path / "a.py").rename(tmp_path / "b.py")
        digests.add(extension._digest(tmp_path))
        assert len(digests) == 3
        (tmp_path / "__pycache__").mkdir()
        (tmp_path / "__pycache__" / "b.pyc").write_text("")
        assert extension._digest(tmp_path) in digests


class TestOutputs:
    def write(self, folder, *cells):
        path = folder / "chapter.ipynb"
        nbformat.write(new_notebook(cells=[new_code_cell(source, metadata=tags) for source, tags in cells]), path)
        return path

    def test_text_is_kept_and_nothing_else(self, tmp_path):
        path = self.write(
            tmp_path,
            ("import sys; print('one'); print('noise', file=sys.stderr)", {}),
            (f"display({{'{MIME}': {{'data': []}}, 'image/png': 'aaaa'}}, raw=True)", {}),
            ("display({'text/html': '<b>2</b>', 'text/plain': '2'}, raw=True)", {}),
            ("1 / 0", {"tags": ["raises-exception"]}),
            ("print('now')", {"tags": ["no-compare"]}),
        )
        assert outputs.main([str(path)]) == 0
        cells = nbformat.read(path, as_version=4).cells
        stream, figure, table, error, uncompared = cells
        assert [(o.name, o.text) for o in stream.outputs] == [("stdout", "one\n")]
        assert figure.outputs == []
        assert [o.data for o in table.outputs] == [{"text/plain": "2"}]
        assert [(o.ename, o.evalue, o.traceback) for o in error.outputs] == [
            ("ZeroDivisionError", "division by zero", [])
        ]
        assert uncompared.outputs == []
        assert [cell.execution_count for cell in cells] == [1, 2, 3, 4, None]
        assert not any("execution" in cell.metadata for cell in cells)

        before = path.read_bytes()
        outputs.main([str(path)])
        assert path.read_bytes() == before

    def test_a_failing_notebook_stays_as_it_was(self, tmp_path, capsys):
        path = self.write(tmp_path, ("print('new')", {}), ("1 / 0", {}))
        before = path.read_bytes()
        assert outputs.main([str(path)]) == 1
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]
        assert "ZeroDivisionError" in capsys.readouterr().err


class TestNotebooksUnderTest:
    def test_what_passed_is_not_run_again_by_the_build(self, tmp_path):
        right, wrong = (
            new_notebook(cells=[new_code_cell("display({'text/html': '<b>3</b>'}, raw=True)"), new_code_cell(last)])
            for last in ("1 + 2", "1 / 0")
        )
        for name, notebook in (("right", right), ("wrong", wrong)):
            nbformat.write(notebook, tmp_path / f"{name}.ipynb")
        command = [sys.executable, "-m", "pytest", "-p", "booksite.nbval", "--nbval", "--rootdir", str(tmp_path)]
        run = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True)
        assert "1 failed, 3 passed" in run.stdout
        cache = get_cache(extension.cache_folder(tmp_path))
        bundle = cache.get_cache_bundle(cache.match_cache_notebook(right).pk)
        figure, text = (cell.outputs[0].data for cell in bundle.nb.cells)
        assert (figure, text) == ({"text/html": "<b>3</b>"}, {"text/plain": "3"})
        with pytest.raises(KeyError):
            cache.match_cache_notebook(wrong)


class TestServe:
    def test_site_not_built(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert "build it first" in serve.main(0)

    def test_port_taken(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        serve.SITE.mkdir(parents=True)
        (serve.SITE / "index.html").touch()
        with serve.make_server(serve.SITE, 0) as other:
            assert f"cannot serve on port {other.server_port} " in serve.main(other.server_port)
