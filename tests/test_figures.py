import base64
import json
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
import pytest

from topiclens.documents import Masking, TopicModel, mask_documents
from topiclens.figures import (
    block_panels_figure,
    carrier_figure,
    compare_figure,
    curves_figure,
    document_figure,
    loss_figure,
    matrix_figure,
    panels_figure,
    slider_curves_figure,
    slider_figure,
    slider_table_figure,
    stages_figure,
)
from topiclens.model import TopicTransformer

TOPICS = TopicModel(3, 4)
RNG = np.random.default_rng(0)
STACK = RNG.normal(size=(5, 12, 12))


def documents():
    masked = mask_documents(TopicModel(3, 4, length=(5, 9)).sample(3, 0).words, Masking(0.3), 12, 0)
    return masked, TopicTransformer(12, init_scale=1.0).attention(masked).detach().numpy()


CURVES = {"W_V": ([0, 1, 2], [0, 1, 5]), "scores": ([0, 1, 2], [0, 0, 2])}
FRAMES = {f"{k}": {"loss": ([1, 10, 100], [k, 2, k]), "best": ([10], [2])} for k in (3, 4)}


def stages(**other):
    matrices = {"W_V": STACK[:2], "scores": 20 * STACK[2:4]}
    roles = (("output", "input"), ("query", "key"))
    settings = {"title": "Stages", "limits": (2, 30), "roles": roles} | other
    return stages_figure(matrices, [0, 2], TOPICS.word_topics, CURVES, **settings)


def every_figure():
    masked, attention = documents()
    yield matrix_figure(STACK[0], TOPICS.word_topics, title="M")
    yield matrix_figure(abs(STACK[0]), TOPICS.word_topics, title="A", signed=False, rows="query", columns="key")
    yield slider_figure(STACK, [0, 1, 2, 5, 9], TOPICS.word_topics, title="S")
    yield slider_table_figure(STACK[:2, :5], ["a", "b"], title="T", slider="which", rows="document", columns="topic")
    yield compare_figure(STACK[0], STACK[1], TOPICS.word_topics, title="C")
    yield curves_figure({"a": ([1, 2], [3, 4])}, title="L", x_title="x", y_title="y", references={"r": 3.5})
    yield slider_curves_figure(FRAMES, title="F", slider="k =", x_title="x", y_title="y", log_x=True)
    yield panels_figure({"A": CURVES, "B, b": CURVES, "C": CURVES}, title="P", x_title="step", y_title="gap")
    yield stages()
    yield loss_figure({"a": RNG.random(500)}, title="L", y_title="loss", references={"floor": 0.5})
    yield carrier_figure(abs(STACK), STACK, [0, 1, 2, 5, 9], TOPICS.word_topics, title="K")
    yield document_figure(masked, attention, TOPICS.word_topics, title="D")
    yield block_panels_figure({"a": {"M": STACK[0], "A": STACK[1]}, "b": {"A": STACK[2]}}, title="P")


@pytest.mark.parametrize("figure", list(every_figure()), ids=lambda f: f.layout.title.text)
def test_every_figure_speaks_and_travels_light(figure):
    alt = figure.layout.meta["alt"]
    assert len(alt) > 40
    assert alt != figure.layout.title.text
    as_json = json.loads(figure.to_json())
    assert len(json.dumps(as_json["layout"]["template"])) < 100  # plotly's default one is 7 KB
    for trace in as_json["data"]:
        if trace["type"] == "heatmap":
            assert trace["z"]["dtype"] in ("f4", "u1")
            assert isinstance(trace["z"]["bdata"], str)


def test_a_heatmap_holds_the_matrix_with_row_0_at_the_top():
    figure = matrix_figure(STACK[0], TOPICS.word_topics, title="M", limit=2.0)
    assert np.allclose(figure.data[0].z, STACK[0].astype(np.float32))
    assert figure.layout.yaxis.autorange == "reversed"
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-2, 2)
    assert len(figure.layout.shapes) == 4  # two boundaries between three topics, both ways
    assert [s.x0 for s in figure.layout.shapes if s.x0 == s.x1] == [3.5, 7.5]
    assert figure.data[0].y[4] == "5 (topic 2)"


def test_a_slider_shows_every_matrix_on_one_scale():
    figure = slider_figure(STACK, [0, 1, 2, 5, 9], TOPICS.word_topics, title="S")
    assert [frame.name for frame in figure.frames] == ["0", "1", "2", "5", "9"]
    for frame, matrix in zip(figure.frames, STACK, strict=True):
        assert np.allclose(frame.data[0].z, matrix.astype(np.float32))
        assert frame.data[0].zmax is None  # colours stay those of the figure
        assert f"{np.trace(matrix) / 12:.2f}".replace("-", "−") in frame.layout.title.subtitle.text
    assert np.allclose(figure.data[0].z, STACK[-1].astype(np.float32))
    (slider,) = figure.layout.sliders
    assert slider.active == 4
    assert [list(step.args[0]) for step in slider.steps] == [[frame.name] for frame in figure.frames]


def test_a_table_behind_a_slider_counts_from_one():
    figure = slider_table_figure(
        STACK[:2, :5], [1, 2], title="T", slider="k", rows="r", columns="c", signed=True, limit=3
    )
    assert list(figure.data[0].y) == ["1", "2", "3", "4", "5"]
    assert len(figure.data[0].x) == 12
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-3, 3)
    for frame, table in zip(figure.frames, STACK[:2, :5], strict=True):
        assert np.allclose(frame.data[0].z, table.astype(np.float32))


def test_curves_behind_a_slider():
    options = {"title": "F", "slider": "k =", "x_title": "x", "y_title": "y", "log_x": True}
    figure = slider_curves_figure(FRAMES, opening="3", **options)
    line, point = figure.data
    assert list(line.y) == [3, 2, 3]
    assert point.mode == "markers"
    assert point.marker.color == line.line.color
    assert list(figure.frames[1].data[0].y) == [4, 2, 4]
    (slider,) = figure.layout.sliders
    assert slider.active == 0
    for axis, (low, high) in ((figure.layout.xaxis, (0, 2)), (figure.layout.yaxis, (2, 4))):
        assert axis.range[0] < low
        assert high < axis.range[1]
    with pytest.raises(ValueError, match="opening = '5'"):
        slider_curves_figure(FRAMES, opening="5", **options)
    with pytest.raises(ValueError, match="as many curves"):
        slider_curves_figure(FRAMES | {"5": CURVES | FRAMES["3"]}, **options)
    with pytest.raises(ValueError, match="frames is empty"):
        slider_curves_figure({}, **options)


def test_panels_share_names_and_style():
    figure = panels_figure({"A": CURVES, "B": CURVES}, title="P", x_title="step", y_title="gap")
    assert [curve.name for curve in figure.data] == ["W_V", "scores"] * 2
    assert [curve.showlegend for curve in figure.data] == [True, True, False, False]
    assert figure.data[0].line == figure.data[2].line
    assert {curve.xaxis for curve in figure.data} == {"x", "x2"}
    with pytest.raises(ValueError, match="panels is empty"):
        panels_figure({}, title="P", x_title="step", y_title="gap")


def test_stages_move_together():
    figure = stages()
    assert np.allclose(figure.data[1].z, (20 * STACK[3]).astype(np.float32))
    assert (figure.layout.coloraxis.cmax, figure.layout.coloraxis2.cmax) == (2, 30)
    for k, frame in enumerate(figure.frames):
        assert list(frame.traces) == [0, 1, 4]
        assert np.allclose(frame.data[0].z, STACK[k].astype(np.float32))
        assert set(frame.data[2].x) == {[0, 2][k]}
    with pytest.raises(ValueError, match="3 labels"):
        stages_figure({"a": STACK[:2], "b": STACK[:2]}, [0, 1, 2], TOPICS.word_topics, CURVES, title="S",
                      limits=(1, 1), roles=(("a", "b"),) * 2)  # fmt: skip


def test_comparison_has_one_scale_and_the_difference():
    figure = compare_figure(STACK[0], STACK[1], TOPICS.word_topics, title="C")
    learned, theory, difference = (trace.z for trace in figure.data)
    assert np.allclose(difference, np.float32(STACK[0] - STACK[1]))
    assert np.allclose(learned - theory, difference, atol=1e-6)
    assert {trace.coloraxis for trace in figure.data} == {"coloraxis"}
    assert figure.layout.coloraxis.cmin == -figure.layout.coloraxis.cmax


def test_a_document_shows_the_attention_of_the_chosen_query():
    masked, attention = documents()
    figure = document_figure(masked, attention, TOPICS.word_topics, title="D", columns=4)
    chooser, *menus = figure.layout.updatemenus
    assert len(chooser.buttons) == len(menus) == len(figure.data) == 3
    for d, menu in enumerate(menus):
        length = masked.present[d].sum()
        names = [n for n in figure.data[d].text.ravel() if n]
        assert names == ["?" if i == 0 else str(i) for i in masked.shown[d, :length]]
        for button in menu.buttons:
            shown = 0 if button.label == "?" else int(button.label)
            query = int(np.flatnonzero(masked.shown[d] == shown)[0])
            cells = np.asarray(button.args[0]["z"][0]).ravel()[:length]
            assert np.allclose(cells, attention[d, query, :length], atol=1e-7)


def test_loss_curves_are_averages_of_all_steps():
    losses = RNG.random(1000)
    x, y = (loss_figure({"a": losses}, title="L", y_title="loss", references={}).data[0][k] for k in "xy")
    widths = np.diff(np.concatenate([[0], x]))
    assert x[-1] == 1000
    assert (widths * y).sum() == pytest.approx(losses.sum())


def test_typed_arrays_are_readable_without_us():
    z = json.loads(go.Figure(matrix_figure(STACK[0], TOPICS.word_topics, title="M")).to_json())["data"][0]["z"]
    back = np.frombuffer(base64.b64decode(z["bdata"]), np.float32).reshape(12, 12)
    assert np.allclose(back, STACK[0], atol=1e-6)


def test_block_panels_show_each_matrix_in_8_bits_on_its_own_scale():
    settings = {"a": {"M": STACK[0], "A": 1000 * STACK[1]}, "b": {"A": STACK[2]}}
    figure = block_panels_figure(settings, title="P")
    off = ~np.eye(12, dtype=bool)
    for trace, matrix in zip(figure.data, (STACK[0], STACK[1], STACK[2]), strict=True):
        assert trace.z.dtype == np.uint8
        assert np.corrcoef(matrix[off], trace.z[off].astype(float))[0, 1] > 0.97
        assert np.isin([0, 255], trace.z).all()
    assert [head.text for head in figure.layout.annotations] == ["M", "<b>a</b>", "A", "A", "<b>b</b>"]


def test_block_panels_stand_beside_each_other_while_there_is_room():
    panels = dict.fromkeys(("M", "A", "B"), STACK[0])
    layout = block_panels_figure({"a": panels, "b": panels, "c": panels | {"C": STACK[1]}}, title="P").layout
    axes = ["xaxis", *(f"xaxis{n}" for n in range(2, 11))]
    wide = [layout[axis].domain for axis in axes]
    assert all(left[1] < right[0] for left, right in pairwise(wide[:6]))
    assert wide[6] == wide[0]
    narrow = layout.meta["narrow"]
    tops = [narrow[axis.replace("x", "y", 1) + ".domain"][1] for axis in axes]
    assert tops == sorted(tops, reverse=True)
    assert len(set(tops)) == 3
    assert narrow[axes[3] + ".domain"] == narrow[axes[0] + ".domain"]
    assert narrow[axes[9] + ".domain"][1] <= 1


def test_carriers_stand_at_the_largest_entries():
    attention, outputs = abs(STACK), -STACK
    figure = carrier_figure(attention, outputs, [0, 1, 2, 5, 9], TOPICS.word_topics, title="K")
    for frame, a, o in zip(figure.frames, attention, outputs, strict=True):
        circles, crosses = frame.data
        assert np.array_equal(circles.x, a.argmax(1) + 1)
        assert np.array_equal(crosses.x, o.argmax(1) + 1)
        assert np.array_equal(circles.y, np.arange(1, 13))
        back = (o.argmax(1) == np.arange(12)).sum()
        assert f"largest output: own word {back} (of 12)" in frame.layout.title.subtitle.text
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]  # query 1 at the top
    menu = figure.layout.updatemenus[-1].buttons
    assert [b.label for b in menu] == ["all topics", "topic 1", "topic 2", "topic 3"]
    assert menu[2].args[0]["yaxis.range"] == [8.7, 4.3]
    with pytest.raises(ValueError, match="5 attention matrices and 4 of outputs"):
        carrier_figure(attention, outputs[:4], [0, 1, 2, 5, 9], TOPICS.word_topics, title="K")
