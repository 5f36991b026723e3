import json

import numpy as np
import pytest

from topiclens.text_figures import Reading, heads_figure, reader_figure, threshold_figure, topic_panel_figure
from topiclens.text_figures import _set_in_lines as set_in_lines

RNG = np.random.default_rng(0)
TEXT = "Jazz guitar, and a jazz-like tune: guitars."
SPANS = np.array([[0, 4], [5, 11], [19, 23], [29, 33]])  # Jazz, guitar, jazz, tune
TOPICS = np.array([0, 0, 0, 3])
ATTENTION = np.arange(16.0).reshape(4, 4)


def threshold():
    vectors = RNG.normal(size=(40, 5)) + 2 * np.eye(4, 5)[np.arange(40) % 4]
    clarity = np.linspace(0, 1, 40)
    return threshold_figure(vectors, np.arange(40) % 4, clarity, [0, 0.5], title="T"), vectors, clarity


def heads():
    ratios, attention = RNG.uniform(0.5, 4, (2, 3)), RNG.uniform(0, 5, (2, 3, 4, 4))
    figure = heads_figure(ratios, attention, ["a", "b", "b", "c"], np.array([0, 0, 1, 1]), title="H")
    return figure, ratios, attention


def reader():
    other = Reading("Other", "tune tune", np.array([[0, 4], [5, 9]]), np.array([-1, -1]), np.eye(2))
    return reader_figure([Reading("Music", TEXT, SPANS, TOPICS, ATTENTION), other], {0: "jazz, blues"}, title="R")


def panel():
    counts = np.array([[9.0, 3, 1], [1, 3, 9]])
    return topic_panel_figure(
        ("x", "y", "z"), counts, counts.sum(0), np.stack([counts, -counts]), [0, 1], [0, 1], title="P", num_words=2
    )


@pytest.mark.parametrize("figure", [threshold()[0], heads()[0], reader(), panel()], ids=lambda f: f.layout.title.text)
def test_every_figure_speaks_and_travels_light(figure):
    assert len(figure.layout.meta["alt"]) > 40
    as_json = json.loads(figure.to_json())
    assert len(json.dumps(as_json["layout"]["template"])) < 100


def test_the_threshold_leaves_words_out():
    figure, vectors, clarity = threshold()
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for frame, least in zip(figure.frames, (0, 0.5), strict=True):
        kept = np.flatnonzero(clarity >= least)
        cosines = unit[kept] @ unit[kept].T
        same = (kept[:, None] % 4 == kept % 4) & ~np.eye(len(kept), dtype=bool)
        subtitle = frame.layout.title.subtitle.text
        assert f"{len(kept)} words" in subtitle
        assert f"same topic {cosines[same].mean():.3f}" in subtitle
        for curve, pairs in zip(frame.data, (same, kept[:, None] % 4 != kept % 4), strict=True):
            expected = np.histogram(cosines[pairs], np.linspace(-1, 1, 101))[0] / pairs.sum()
            assert np.allclose(curve.y, 100 * expected[35:95], atol=0.01)


def test_the_menu_shows_the_head_that_it_names():
    figure, ratios, attention = heads()
    (menu,) = figure.layout.updatemenus
    assert menu.buttons[menu.active].label == figure.data[0].text.ravel()[ratios.argmax()]
    for button, label, matrix in zip(
        menu.buttons, figure.data[0].text.ravel(), attention.reshape(6, 4, 4), strict=True
    ):
        assert button.label == label  # so that a click on the cell finds it
        shown = np.array(button.args[0]["z"][0], float)
        assert np.isnan(np.diag(shown)).all()
        away = ~np.eye(4, dtype=bool)
        assert np.allclose(shown[away], matrix[away])
    assert np.allclose(figure.data[0].z, np.log2(ratios))
    assert len(set(figure.data[1].x)) == 4  # a word that stands twice is two words


def test_text_is_set_word_for_word():
    pieces = set_in_lines(TEXT, SPANS, 20)
    lines = {}
    for piece, number, column, line in pieces:
        text = lines.setdefault(line, "")
        lines[line] = text.ljust(column) + piece
        assert (TEXT[slice(*SPANS[number])] == piece) if number >= 0 else True
    assert " ".join(lines.values()) == TEXT
    assert max(map(len, lines.values())) <= 20
    assert [number for _, number, _, _ in pieces if number >= 0] == [0, 1, 2, 3]


def test_a_chosen_word_shades_the_others_and_frames_its_topic():
    figure = reader()
    chooser, music, other = figure.layout.updatemenus
    assert [button.label for button in chooser.buttons] == ["Music", "Other"]
    assert [button.label for button in music.buttons] == ["Jazz", "guitar", "jazz", "tune"]
    assert list(figure.data[1].text) == ["Jazz", "guitar", "jazz", "tune"]
    style = music.buttons[0].args[0]  # both places of the word, each without itself
    assert style["marker.color"][0] == [4.0, 5.0, 1.0, 7.0]
    assert style["marker.line.width"][0] == [4, 2, 4, 0]
    assert list(music.buttons[0].args[1]) == [1]
    assert other.buttons[0].args[0]["marker.line.width"][0] == [4, 4]  # a word without topic frames no other


def test_topics_keep_their_numbers_at_every_relevance():
    figure = panel()
    assert [button.label for button in figure.layout.updatemenus[-1].buttons] == ["topic 1", "topic 2"]
    for frame, words in zip(figure.frames, (["x", "y", "z", "y"], ["z", "y", "x", "y"]), strict=True):
        assert [*frame.data[0].text, *frame.data[2].text] == words
    assert list(figure.data[0].x) == [10, 6]
    assert list(figure.data[1].x) == [1, 3]
