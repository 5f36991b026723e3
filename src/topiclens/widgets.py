"""Live controls for notebooks: the site's playground, and explorers that redraw the book's figures.

Where a kernel runs, a reader moves a control and the figure follows. In a built page nothing runs; there the same
cell shows a figure with a slider over settings that were prepared (`Explorer`), and no dead control.
"""

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path

import anywidget
import ipywidgets
import numpy as np
import plotly.graph_objects as go
import traitlets

from . import figures, playground
from .checks import check_choice, check_int, check_positive
from .documents import Dirichlet, Masking, TauOfT, TopicModel
from .measures import between_words
from .model import TopicTransformer
from .theory import value_optimum
from .training import LOSSES, checkpoint_steps, train

PLOTLY_MIME = "application/vnd.plotly.v1+json"
PRESETS = ("claim1", "claim2", "claim3", "claim4", "thirdStage")
WIDE = {"style": {"description_width": "11em"}, "layout": {"width": "28em"}}


class Playground(anywidget.AnyWidget):
    """The site's playground in a notebook. It trains in the browser; `matrices` are there whenever it stands still.

    Args:
        preset: "claim1" … "claim4" or "thirdStage", with what that claim needs; the rest replaces parts of it.
        topics: T, v, mixture and N; topics share no words, documents have one length.
        masking: which positions are selected and what they show.
        see_selected, embedding, value, attention, decoder, bias, init_scale: as in `TopicTransformer`; a frozen
            `value` is "identity" or "theory", the optimum for long documents.
        loss, optimizer, lr, batch_size: as in `train`; "adam" or "sgd".
        seed: of start and documents.
        until: the step at which a run stops.

    Raises:
        ValueError: an unknown preset or setting, or a topic model of a kind that the page does not train.
    """

    _esm = f"{playground.page_script()}export default {{ render: topiclensPlayground().render }};\n"
    _css = playground.style()
    _settings = traitlets.Dict().tag(sync=True)
    _state = traitlets.Dict().tag(sync=True)

    def __init__(
        self,
        preset: str = "claim4",
        *,
        topics: TopicModel | None = None,
        masking: Masking | None = None,
        **settings: str | float | bool,
    ):
        check_choice("preset", preset, PRESETS)
        chosen = {"preset": preset}
        if topics is not None:
            chosen |= _topic_settings(topics)
        if masking is not None:
            if type(masking) is not Masking:
                raise ValueError(f"masking = {masking!r} must be a Masking")
            chosen |= {f"{name}Prob": getattr(masking, f"{name}_prob") for name in ("mask", "keep", "random")}
        for name, value in settings.items():
            if name not in _CHECKS:
                raise ValueError(f"{name} = {value!r} is no setting of the playground; it has {', '.join(_CHECKS)}")
            chosen[_camel(name)] = _CHECKS[name](name, value)
        super().__init__(_settings=chosen)

    @property
    def step(self) -> int:
        """How many steps the matrices have been trained."""
        return self._state.get("step", 0)

    @property
    def settings(self) -> dict:
        """The settings of the run that `matrices` are from, as the page has them."""
        return self._state.get("settings", {})

    @property
    def matrices(self) -> dict[str, np.ndarray]:
        """name → (V+1, V+1) float32, b (V+1, 1); empty until the page has sent them."""
        return {
            name: np.frombuffer(part["data"], "<f4").reshape(part["rows"], part["cols"]).copy()
            for name, part in self._state.get("matrices", {}).items()
        }


def _camel(name):
    first, *rest = name.split("_")
    return first + "".join(map(str.title, rest))


def _topic_settings(topics):
    shortest, longest = topics.lengths
    if topics.words_per_topic is None or shortest != longest or type(topics.mixture) not in (TauOfT, Dirichlet):
        raise ValueError(
            f"topics = {topics!r}: the playground has topics that share no words, mixtures TauOfT and Dirichlet, and "
            "documents of one length"
        )
    match topics.mixture:
        case TauOfT(tau):
            mixture = {"mixture": "tau", "tau": tau}
        case Dirichlet(alpha):
            mixture = {"mixture": "dirichlet", "alpha": alpha}
    return {"numTopics": topics.num_topics, "wordsPerTopic": topics.words_per_topic, "length": longest, **mixture}


def _one_of(*choices):
    return lambda name, value: check_choice(name, value, choices)


def _check_switch(name, value):
    if not isinstance(value, bool):
        raise ValueError(f"{name} = {value!r} must be True or False")
    return value


_CHECKS = {
    "see_selected": _check_switch,
    "embedding": _one_of("learned", "one-hot"),
    "value": _one_of("learned", "identity", "theory"),
    "attention": _one_of("learned", "uniform"),
    "decoder": _one_of("tied", "identity"),
    "bias": _check_switch,
    "init_scale": check_positive,
    "loss": _one_of(*LOSSES),
    "optimizer": _one_of("adam", "sgd"),
    "lr": check_positive,
    "batch_size": lambda name, value: check_int(name, value, 1, 1024),
    "seed": lambda name, value: check_int(name, value, 0, 2**32 - 1),
    "until": lambda name, value: check_int(name, value, 1, 10**6),
}


class FigureView(anywidget.AnyWidget):
    """A plotly figure that can be replaced in place; drawn first when a browser shows it.

    Args:
        opening: shows the figure to begin with.
    """

    _esm = Path(__file__).with_name("figure_view.js")
    figure = traitlets.Unicode().tag(sync=True)

    def __init__(self, opening: Callable[[], None]):
        super().__init__()
        self._opening = opening
        self.on_msg(self._answer)

    def show(self, figure: go.Figure) -> None:
        self.figure = figure.to_json()

    def _answer(self, widget, message, buffers):
        if message["type"] == "plotly":
            package = Path(importlib.util.find_spec("plotly").origin).parent
            self.send({"type": "plotly"}, [(package / "package_data" / "plotly.min.js").read_bytes()])
        elif message["type"] == "ready" and not self.figure:
            self._opening()


class Explorer:
    """Controls, and a figure that follows them.

    Args:
        controls: name → ipywidgets control.
        draw: called with the controls' values by name, returns the figure; a ValueError is shown as a sentence.
        still: the figure where no kernel runs, with a slider over settings prepared.
        button: what a button says that has to be pressed before anything is drawn anew; for figures that take long.
    """

    def __init__(
        self,
        controls: dict[str, ipywidgets.Widget],
        draw: Callable[..., go.Figure],
        still: go.Figure,
        *,
        button: str | None = None,
    ):
        self.controls, self.still, self._draw = controls, still, draw
        self.message = ipywidgets.HTML()
        self.view = FigureView(self._update)
        rows = list(controls.values())
        if button is None:
            for control in rows:
                control.observe(lambda change: self._update(), "value")
        else:
            self.button = ipywidgets.Button(description=button, button_style="primary")
            self.button.on_click(lambda pressed: self._update())
            rows.append(self.button)
        self.widget = ipywidgets.VBox([*rows, self.message, self.view])

    def _update(self):
        waiting = getattr(self, "button", None)
        if waiting:
            waiting.disabled = True
        try:
            self.view.show(self._draw(**{name: control.value for name, control in self.controls.items()}))
            self.message.value = ""
        except (ValueError, FloatingPointError) as error:
            self.message.value = f'<span role="alert">{error}</span>'
        finally:
            if waiting:
                waiting.disabled = False

    def __repr__(self) -> str:
        return f"Explorer({', '.join(self.controls)})"

    def _repr_mimebundle_(self, include=None, exclude=None):
        """Both the controls and the still figure; each place shows the one that it can."""
        bundle = self.widget._repr_mimebundle_()
        data = bundle[0] if isinstance(bundle, tuple) else bundle
        return {**data, "text/plain": repr(self), PLOTLY_MIME: json.loads(self.still.to_json())}


def explore_values() -> Explorer:
    """The exact value matrix (uniform attention, squared loss) for documents of any kind; no training."""

    def draw(num_topics, tau, length, keep_prob, random_prob, see_selected):
        topics = TopicModel(num_topics, 10, mixture=TauOfT(tau), length=length)
        masking = Masking(keep_prob=keep_prob, random_prob=random_prob)
        matrix = between_words(value_optimum(topics, masking, see_selected=see_selected))
        return figures.matrix_figure(
            matrix, topics.word_topics, title="Optimal value matrix", limit=0.2, rows="output", columns="key"
        )

    controls = {
        "num_topics": ipywidgets.IntSlider(10, 2, 15, description="topics T", **WIDE),
        "tau": ipywidgets.IntSlider(4, 1, 15, description="topics a document τ", **WIDE),
        "length": ipywidgets.IntSlider(128, 8, 1024, 8, description="words a document N", **WIDE),
        "keep_prob": ipywidgets.FloatSlider(0.1, min=0, max=1, step=0.05, description="keep p_c", **WIDE),
        "random_prob": ipywidgets.FloatSlider(0.1, min=0, max=1, step=0.05, description="random p_r", **WIDE),
        "see_selected": ipywidgets.Checkbox(True, description="selected positions visible", **WIDE),
    }
    taus = list(range(10, 0, -1))  # opens on the plainest
    models = [TopicModel(mixture=TauOfT(tau)) for tau in taus]
    still = figures.slider_figure(
        np.array([between_words(value_optimum(model, Masking())) for model in models]),
        taus,
        models[0].word_topics,
        title="Optimal value matrix",
        slider="τ =",
        limit=0.2,
        rows="output",
        columns="key",
    )
    return Explorer(controls, draw, still)


def explore_training(steps: int = 300) -> Explorer:
    """Train W_V, alone or with attention, on documents of any kind; the figure goes through the training.

    Args:
        steps: how long each run is.

    Raises:
        ValueError: steps below 1.
    """
    check_int("steps", steps, 1)

    def run(num_topics=10, tau=4, mask_prob=0.15, keep_prob=0.1, attention="learned", loss="squared",
            optimizer="adam", lr=0.003, checkpoints=None):  # fmt: skip
        topics = TopicModel(num_topics, 10, mixture=TauOfT(tau))
        model = TopicTransformer(
            topics.num_words, embedding="one-hot", attention=attention, decoder="identity", bias=False,
            see_selected=False, init_scale=0.001,
        )  # fmt: skip
        masking = Masking(mask_prob, keep_prob, min(0.1, 1 - keep_prob))
        return topics, train(
            model, topics, masking, steps=steps, loss=loss, optimizer=optimizer, lr=lr,
            checkpoints=checkpoint_steps(steps, 12) if checkpoints is None else checkpoints, progress=False,
        )  # fmt: skip

    def draw(**settings):
        topics, history = run(**settings)
        return figures.slider_figure(
            between_words(history.matrices["W_V"]), history.steps, topics.word_topics, title="Value matrix"
        )

    controls = {
        "num_topics": ipywidgets.IntSlider(10, 2, 15, description="topics T", **WIDE),
        "tau": ipywidgets.IntSlider(4, 1, 15, description="topics a document τ", **WIDE),
        "mask_prob": ipywidgets.FloatSlider(0.15, min=0.05, max=1, step=0.05, description="selected p_m", **WIDE),
        "keep_prob": ipywidgets.FloatSlider(0.1, min=0, max=1, step=0.05, description="keep p_c", **WIDE),
        "attention": ipywidgets.Dropdown(options=["learned", "uniform"], description="attention", **WIDE),
        "loss": ipywidgets.Dropdown(options=LOSSES, value="squared", description="loss", **WIDE),
        "optimizer": ipywidgets.Dropdown(options=["adam", "sgd"], description="optimiser", **WIDE),
        "lr": ipywidgets.FloatLogSlider(0.003, min=-4, max=2, step=0.25, description="learning rate", **WIDE),
    }
    taus = [1, 2, 4, 8]
    finals = [run(tau=tau, checkpoints=[steps])[1].final("W_V") for tau in taus]
    still = figures.slider_figure(
        between_words(np.array(finals)),
        taus,
        TopicModel().word_topics,
        title=f"Value matrix after {steps} steps",
        slider="τ =",
    )
    return Explorer(controls, draw, still, button="Train")
