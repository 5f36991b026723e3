"""Widgets without a browser: settings on their way to the page, matrices on their way back, figures that follow."""

import gzip
import json
import re

import ipywidgets
import numpy as np
import plotly.graph_objects as go

from topiclens import Dirichlet, Masking, TauOfT, TopicModel, playground, widgets
from topiclens.widgets import PLOTLY_MIME, Explorer, Playground


def page_names(block):
    """The names in an object literal of the trainer, such as defaultSettings."""
    text = playground.source().partition(f"{block} = Object.freeze({{\n")[2].partition("\n});")[0]
    return re.findall(r"^  (\w+):", text, re.M)


class TestPlayground:
    def test_settings_have_the_names_that_the_page_has(self):
        everything = Playground(
            topics=TopicModel(5, 4, mixture=TauOfT(2), length=60),
            masking=Masking(0.2, 0.3, 0.4),
            see_selected=True,
            embedding="learned",
            value="identity",
            attention="uniform",
            decoder="tied",
            bias=True,
            init_scale=0.1,
            loss="cross-entropy",
            optimizer="sgd",
            lr=1,
            batch_size=32,
            seed=7,
            until=100,
        )._settings
        named = set(everything) - {"preset", "until"}
        assert named | {"alpha"} == set(page_names("defaultSettings"))
        assert everything["numTopics"] == 5
        assert everything["wordsPerTopic"] == 4
        assert (everything["tau"], everything["length"]) == (2, 60)
        assert [everything[f"{name}Prob"] for name in ("mask", "keep", "random")] == [0.2, 0.3, 0.4]

    def test_dirichlet(self):
        settings = Playground(topics=TopicModel(mixture=Dirichlet(0.3)))._settings
        assert (settings["mixture"], settings["alpha"]) == ("dirichlet", 0.3)

    def test_presets_are_those_of_the_page(self):
        assert list(widgets.PRESETS) == page_names("presets")

    def test_matrices_are_numpy_arrays(self):
        play = Playground()
        assert play.step == 0
        assert play.matrices == {}
        W = np.arange(6, dtype="<f4").reshape(2, 3)
        part = {"rows": 2, "cols": 3, "data": memoryview(W.tobytes())}
        play._state = {"step": 40, "settings": {"lr": 0.01}, "matrices": {"W_V": part}}
        assert play.step == 40
        assert play.settings == {"lr": 0.01}
        assert np.array_equal(play.matrices["W_V"], W)
        play.matrices["W_V"][0, 0] = 9  # a copy: what came from the page stays
        assert np.array_equal(play.matrices["W_V"], W)

    def test_script_is_small(self):
        """Of ours, gzipped: trainer, page and style."""
        text = playground.page_script() + playground.style()
        assert len(gzip.compress(text.encode())) <= 60_000


def shown(explorer):
    return json.loads(explorer.view.figure)


class TestExplorer:
    @staticmethod
    def make(button=None):
        def draw(n):
            if n > 5:
                raise ValueError(f"n = {n} must be at most 5")
            return go.Figure(go.Scatter(y=[0, n]))

        return Explorer({"n": ipywidgets.IntSlider(2)}, draw, go.Figure(go.Scatter(y=[7, 7])), button=button)

    def test_figure_follows_its_control(self):
        explorer = self.make()
        explorer.controls["n"].value = 3
        assert shown(explorer)["data"][0]["y"] == [0, 3]

    def test_what_cannot_be_drawn_is_said(self):
        explorer = self.make()
        explorer.controls["n"].value = 3
        explorer.controls["n"].value = 6
        assert "n = 6 must be at most 5" in explorer.message.value
        assert shown(explorer)["data"][0]["y"] == [0, 3]
        explorer.controls["n"].value = 4
        assert explorer.message.value == ""

    def test_button(self):
        explorer = self.make("Train")
        explorer.controls["n"].value = 3
        assert explorer.view.figure == ""
        explorer.button.click()
        assert shown(explorer)["data"][0]["y"] == [0, 3]
        assert not explorer.button.disabled

    def test_nothing_is_drawn_before_a_browser_looks(self):
        """A page that is only built must not carry the live figure's data besides the still one."""
        explorer = self.make()
        bundle = explorer._repr_mimebundle_()
        assert bundle[PLOTLY_MIME]["data"][0]["y"] == [7, 7]
        assert "application/vnd.jupyter.widget-view+json" in bundle
        assert explorer.view.figure == ""
        explorer.view._answer(None, {"type": "ready"}, [])
        assert shown(explorer)["data"][0]["y"] == [0, 2]


def test_explore_values():
    explorer = widgets.explore_values()
    assert len(explorer.still.frames) == len(explorer.still.layout.sliders[0].steps)
    explorer.controls["see_selected"].value = False
    # hidden from the keys, a word's own token no longer makes the diagonal bright
    assert "same word 0.096 · same topic 0.096" in shown(explorer)["layout"]["title"]["subtitle"]["text"]
    explorer.controls["tau"].value = 12
    assert "tau = 12" in explorer.message.value


def test_explore_training():
    explorer = widgets.explore_training(steps=40)
    assert len(explorer.still.frames) == 4
    explorer.controls["num_topics"].value = 6
    explorer.button.click()
    figure = shown(explorer)
    assert figure["frames"][-1]["name"] == "40"
    assert len(figure["data"][0]["x"]) == 60
    explorer.controls["optimizer"].value = "sgd"
    explorer.controls["lr"].value = 100
    explorer.button.click()
    assert "not finite" in explorer.message.value
