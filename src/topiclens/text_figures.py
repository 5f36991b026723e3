"""Figures for real text, in the look of `figures`. Takes arrays and strings; knows no encoder and no corpus.

Letters in shapes: V words, n words of a document, K topics, L layers, H heads, F positions of a slider.
"""

import re
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from .figures import COLOURS, FROM_ZERO, LINE, SIGNED, SLIDER, add_slider, finish
from .measures import cosine_auc, cosine_counts, vector_means

SHADES = "Blues"  # light where there is nothing: words stay readable


def threshold_figure(
    vectors: np.ndarray, word_topics: np.ndarray, clarity: np.ndarray, thresholds: list[float], *, title: str
) -> go.Figure:
    """How the cosines of same-topic and of different-topic pairs are spread, for a slider of thresholds.

    Args:
        vectors: (V, d) embeddings.
        word_topics, clarity: (V,) the topic of each word, and its share.
        thresholds: F; words with a smaller share are left out.
    """
    bins = 100
    middles = np.linspace(-1, 1, 2 * bins + 1)[1::2]
    shown = (middles > -0.3) & (middles < 0.9)
    curves, notes = [], []
    for threshold in thresholds:
        kept = clarity >= threshold
        some, topics = vectors[kept], word_topics[kept]
        unit = some / np.linalg.norm(some, axis=1, keepdims=True)
        means = vector_means(unit, topics)
        curves.append([100 * counts[shown] / counts.sum() for counts in cosine_counts(some, topics, bins)])
        notes.append(
            f"{kept.sum()} words · AUC {cosine_auc(some, topics):.2f}<br>mean cosine: "
            f"same topic {means.same_topic:.3f}, different topic {means.different_topic:.3f}"
        )
    figure = go.Figure()
    for k, name in enumerate(("same topic", "different topic")):
        line = {"color": COLOURS[k], "shape": "hvh"}
        figure.add_scatter(
            x=middles[shown].round(2), y=curves[0][k].round(2), name=name, mode="lines", line=line, fill="tozeroy"
        )
    labels = [f"{threshold:g}" for threshold in thresholds]
    figure.frames = [
        go.Frame(
            name=label,
            data=[go.Scatter(y=y.round(2)) for y in ys],
            traces=[0, 1],
            layout={"title": {"subtitle": {"text": note}}},
        )
        for label, ys, note in zip(labels, curves, notes, strict=True)
    ]
    figure.update_xaxes(title="cosine of two words' embeddings")
    figure.update_yaxes(title="% of pairs", range=[0, 1.05 * max(y.max() for ys in curves for y in ys)])
    plain = [note.replace("<br>", ", ") for note in notes]
    alt = (
        f"{title}: two histograms, of same-topic and of different-topic pairs, with a slider over the least share "
        f"of a word from {labels[0]} to {labels[-1]}. At {labels[0]}: {plain[0]}; at {labels[-1]}: {plain[-1]}."
    )
    finish(figure, title, notes[0], alt, 420 + SLIDER)
    add_slider(figure, labels, "share at least ", 0)
    figure.update_layout(legend={"x": 1, "xanchor": "right", "y": 1}, margin={"t": 100})
    return figure


def heads_figure(
    ratios: np.ndarray, attention: np.ndarray, words: list[str], word_topics: np.ndarray, *, title: str
) -> go.Figure:
    """Every head's ratio of same-topic to different-topic attention, and below one document through a chosen head.

    A menu chooses the head; in the book's pages a click on its cell does, too.

    Args:
        ratios: (L, H).
        attention: (L, H, n, n) between the words of one document, rows = query, as multiples of uniform attention.
        words: n texts, in topic order.
        word_topics: (n,) their topics.
    """
    L, H = ratios.shape
    n = len(words)
    labels = np.array([[f"layer {i + 1}, head {j + 1}" for j in range(H)] for i in range(L)], object)
    attention = np.where(np.eye(n, dtype=bool), np.nan, np.asarray(attention, float))
    top = float(np.ceil(np.nanquantile(attention, 0.99)))
    strongest = np.unravel_index(np.argmax(ratios), ratios.shape)
    figure = make_subplots(2, 1, vertical_spacing=0.13, row_heights=[0.36, 0.64])
    reach = 3.0  # factors of 8 at most
    figure.add_heatmap(
        z=np.log2(ratios).astype(np.float32),
        x=list(range(1, H + 1)),
        y=list(range(1, L + 1)),
        text=labels,
        customdata=ratios.round(2),
        hovertemplate="%{text}<br>same / different topic %{customdata}<extra></extra>",
        coloraxis="coloraxis",
        xgap=1,
        ygap=1,
        row=1,
        col=1,
    )  # fmt: skip
    # Numbered, since a document may show a word twice.
    names = [f"{word} ({k + 1}; topic {t + 1})" for k, (word, t) in enumerate(zip(words, word_topics, strict=True))]
    figure.add_heatmap(
        z=attention[strongest].astype(np.float32),
        x=names,
        y=names,
        coloraxis="coloraxis2",
        hovertemplate="query %{y}<br>key %{x}<br>%{z:.2f} × uniform<extra></extra>",
        row=2,
        col=1,
    )
    for row in range(L):
        for column in range(H):
            dark = abs(np.log2(ratios[row, column])) > 0.55 * reach
            figure.add_annotation(
                x=column + 1, y=row + 1, text=f"{ratios[row, column]:.1f}", showarrow=False,
                font={"size": 9, "color": "white" if dark else "black"}, row=1, col=1,
            )  # fmt: skip
    for start in np.flatnonzero(np.diff(word_topics)) + 0.5:
        for ends in (
            {"x0": start, "x1": start, "y0": -0.5, "y1": n - 0.5},
            {"y0": start, "y1": start, "x0": -0.5, "x1": n - 0.5},
        ):
            figure.add_shape(line={"color": LINE, "width": 1}, row=2, col=1, **ends)
    flat = {"showgrid": False, "zeroline": False, "ticks": ""}
    figure.update_xaxes(title={"text": "head", "standoff": 2}, dtick=1, tickangle=0, **flat, row=1, col=1)
    figure.update_yaxes(title="layer", dtick=1, autorange="reversed", **flat, row=1, col=1)
    words_axis = {"tickvals": names, "ticktext": words, "tickfont": {"size": 10}, **flat}
    figure.update_xaxes(tickangle=-90, automargin=True, **words_axis, row=2, col=1)
    figure.update_yaxes(autorange="reversed", automargin=True, **words_axis, row=2, col=1)
    alt = (
        f"{title}: {L} layers by {H} heads, from {ratios.min():.1f} to {ratios.max():.1f}, {(ratios > 1).sum()} of "
        f"{ratios.size} above 1. Below, the attention between {n} words of a document in topic order, for the head "
        f"that a menu chooses; at first the strongest, {labels[strongest]}."
    )
    note = "above: attention to same topic / different topic<br>below: one document; rows = query, columns = key"
    narrow = {"coloraxis.showscale": False, "coloraxis2.showscale": False}
    finish(figure, title, note, alt, 880, click=True, narrow=narrow)
    bar = {"thickness": 10, "yanchor": "top"}
    factors = {"tickvals": [-3, -2, -1, 0, 1, 2, 3], "ticktext": ["1/8", "1/4", "1/2", "1", "2", "4", "8"]}
    figure.update_layout(
        coloraxis={
            "colorscale": SIGNED,
            "cmin": -reach,
            "cmax": reach,
            "colorbar": {"len": 0.38, "y": 1} | bar | factors,
        },
        coloraxis2={"colorscale": FROM_ZERO, "cmin": 0, "cmax": top, "colorbar": {"len": 0.56, "y": 0.56} | bar},
        updatemenus=[
            {
                "buttons": [
                    {"label": label, "method": "restyle", "args": [{"z": [matrix.astype(np.float32)]}, [1]]}
                    for label, matrix in zip(labels.ravel(), attention.reshape(-1, n, n), strict=True)
                ],
                "active": int(np.argmax(ratios)),
                "x": 0,
                "xanchor": "left",
                "y": 0.61,
                "yanchor": "middle",
            }
        ],
        margin={"r": 10, "t": 105, "b": 95},
    )
    return figure


class Reading(NamedTuple):
    """A document for `reader_figure`.

    Attributes:
        title, text: as they are.
        spans: (n, 2) where its words stand in the text.
        topics: (n,) their topics, −1 for words without.
        attention: (n, n) rows = query, columns = key, as multiples of uniform attention.
    """

    title: str
    text: str
    spans: np.ndarray
    topics: np.ndarray
    attention: np.ndarray


def reader_figure(readings: list[Reading], topic_names: dict[int, str], *, title: str, columns: int = 46) -> go.Figure:
    """Documents in running text: a chosen word shades the others by the attention it gives them.

    Words of the chosen word's topic are framed. A menu chooses the document, a second one the word; in the book's
    pages a click on a word chooses it, too. Of a word that stands in several places, the mean is shown.

    Args:
        topic_names: topic → a few of its words, for the hover text.
        columns: characters a line.
    """
    top = 4.0  # times uniform: more is rare
    figure, menus, most = go.Figure(), [], 0
    for d, reading in enumerate(readings):
        pieces = _set_in_lines(reading.text, reading.spans, columns)
        most = max(most, 1 + max(line for *_, line in pieces))
        plain = [piece for piece in pieces if piece[1] < 0]
        ours = [piece for piece in pieces if piece[1] >= 0]
        font = {"family": "monospace"}
        figure.add_scatter(
            x=[at for _, _, at, _ in plain],
            y=[line for *_, line in plain],
            text=[piece for piece, *_ in plain],
            mode="text",
            textposition="middle right",
            textfont=font,
            hoverinfo="skip",
            visible=d == 0,
            showlegend=False,
        )
        order = [number for _, number, _, _ in ours]
        shown = [piece for piece, *_ in ours]
        topics = reading.topics[order]
        attention = np.where(np.eye(len(order), dtype=bool), 0, reading.attention[np.ix_(order, order)])
        hover = [f"topic {t + 1}: {topic_names.get(t, '')}" if t >= 0 else "no clear topic" for t in topics]
        buttons = []
        for word in dict.fromkeys(shown):
            places = [k for k, other in enumerate(shown) if other.lower() == word.lower()]
            topic = topics[places[0]]
            frame = np.where((topics == topic) & (topic >= 0), 2, 0)
            frame[places] = 4
            shade = attention[places].mean(0)
            style = {"marker.color": [shade.round(2).tolist()], "marker.line.width": [frame.tolist()]}
            buttons.append({"label": word, "method": "restyle", "args": [style, [2 * d + 1]]})
        opening = int(np.argmax([topics[shown.index(button["label"])] >= 0 for button in buttons]))
        (colour,), (width,) = buttons[opening]["args"][0].values()
        figure.add_bar(
            orientation="h",
            base=[at for _, _, at, _ in ours],
            x=[len(piece) for piece in shown],
            y=[line for *_, line in ours],
            width=0.86,
            text=shown,
            textposition="inside",
            insidetextanchor="middle",
            constraintext="none",
            textangle=0,
            textfont=font,
            hovertext=hover,
            hovertemplate="%{text}<br>%{hovertext}<br>%{marker.color:.2f} × uniform<extra></extra>",
            marker={"color": colour, "coloraxis": "coloraxis", "line": {"width": width, "color": COLOURS[1]}},
            visible=d == 0,
            showlegend=False,
        )
        menus.append({"buttons": buttons, "active": opening, "visible": d == 0, "x": 1, "xanchor": "right"})
    D = len(readings)
    chooser = {
        "x": 0,
        "xanchor": "left",
        "buttons": [
            {
                "label": reading.title,
                "method": "update",
                "args": [
                    {"visible": [e == d for e in range(D) for _ in range(2)]},
                    {f"updatemenus[{e + 1}].visible": e == d for e in range(D)},
                ],
            }
            for d, reading in enumerate(readings)
        ],
    }
    place = {"y": 1, "yanchor": "bottom", "pad": {"b": 8}}
    figure.update_xaxes(visible=False, range=[0, columns], fixedrange=True)
    figure.update_yaxes(visible=False, range=[most - 0.4, -0.6], fixedrange=True)
    alt = (
        f"{title}: {D} documents in running text, {', '.join(reading.title for reading in readings)}. Each word that "
        "the measures count is shaded by the attention that the chosen word gives it; words of its topic are framed."
    )
    height = 150 + 27 * most
    note = "shade: attention from the chosen word (thick frame)<br>thin frame: words of its topic"
    finish(figure, title, note, alt, height, click=True, narrow={"font.size": 10, "margin.l": 4, "margin.r": 4})
    figure.update_layout(
        updatemenus=[menu | place for menu in (chooser, *menus)],
        margin={"t": 140, "l": 10, "r": 10, "b": 10},
        height=height + 20,
        font={"size": 14},
        width=500,
        bargap=0,
        barmode="overlay",
        coloraxis={"colorscale": SHADES, "cmin": 0, "cmax": top, "showscale": False},
    )
    return figure


def _set_in_lines(text, spans, columns):
    """The text cut at its words and set in lines: (piece, number of the word or −1, column, line)."""
    starts = {int(start): (number, int(end)) for number, (start, end) in enumerate(spans)}
    pieces, column, line = [], 0, 0
    for match in re.finditer(r"\S+", text):
        if column and column + len(match[0]) > columns:
            column, line = 0, line + 1
        at, begin = match.start(), match.start()
        while at < match.end():
            if at in starts:
                if begin < at:
                    pieces.append((text[begin:at], -1, column + begin - match.start(), line))
                number, end = starts[at]
                pieces.append((text[at:end], number, column + at - match.start(), line))
                at = begin = end
            else:
                at += 1
        if begin < match.end():
            pieces.append((text[begin : match.end()], -1, column + begin - match.start(), line))
        column += len(match[0]) + 1
    return pieces


def topic_panel_figure(
    words: tuple[str, ...],
    topic_counts: np.ndarray,
    word_counts: np.ndarray,
    relevances: np.ndarray,
    weights: list[float],
    chosen: list[int],
    *,
    title: str,
    num_words: int = 10,
) -> go.Figure:
    """The words that stand for a topic, for a slider of λ: how often in the topic, how often in the whole corpus.

    Args:
        topic_counts: (K, V) how often each topic uses each word, word_counts: (V,) how often the corpus does.
        relevances: (F, K, V), see `text.Topics.relevance`; weights: F values of λ.
        chosen: the topics of the menu. They keep their numbers.
    """

    def traces(relevance):
        made = []
        for t in chosen:
            best = np.argsort(-relevance[t], kind="stable")[:num_words]
            in_topic = topic_counts[t, best]
            made.append({"x": word_counts[best].round().astype(int), "text": [words[w] for w in best]})
            made.append({"x": in_topic.round(1), "text": None})
        return made

    ranks = np.arange(1, num_words + 1)
    figure = go.Figure()
    opening = len(weights) - 1
    for k, trace in enumerate(traces(relevances[opening])):
        figure.add_bar(
            orientation="h",
            y=ranks,
            **trace,
            textposition="outside",
            cliponaxis=False,
            name="in this topic" if k % 2 else "in the corpus",
            marker={"color": COLOURS[0] if k % 2 else "#999999"},
            hovertemplate="%{x} times<extra>%{fullData.name}</extra>",
            visible=k < 2,
        )
    labels = [f"{weight:g}" for weight in weights]
    figure.frames = [
        go.Frame(name=label, data=[go.Bar(**trace) for trace in traces(r)], traces=list(range(2 * len(chosen))))
        for label, r in zip(labels, relevances, strict=True)
    ]
    figure.update_yaxes(title="rank", range=[num_words + 0.6, 0.4], dtick=1, showgrid=False, zeroline=False)
    figure.update_xaxes(title={"text": "times", "standoff": 2}, rangemode="tozero")
    first = [words[w] for w in np.argsort(-relevances[opening][chosen[0]])[:3]]
    alt = (
        f"{title}: a menu of {len(chosen)} topics; of the chosen one the {num_words} most relevant words, each with a "
        f"bar for how often the topic uses it over a bar for how often the corpus does. A slider moves λ from "
        f"{labels[0]} to {labels[-1]}. Topic {chosen[0] + 1} begins with {', '.join(first)}."
    )
    finish(figure, title, "blue: in this topic · grey: in the whole corpus", alt, 490 + SLIDER)
    add_slider(figure, labels, "λ = ")
    menu = {
        "buttons": [
            {
                "label": f"topic {t + 1}",
                "method": "restyle",
                "args": [{"visible": [j // 2 == k for j in range(2 * len(chosen))]}],
            }
            for k, t in enumerate(chosen)
        ],
        "x": 0, "xanchor": "left", "y": 1.02, "yanchor": "bottom",
    }  # fmt: skip
    figure.update_layout(
        updatemenus=[*figure.layout.updatemenus, menu],
        barmode="overlay",
        margin={"r": 110, "t": 125},
        showlegend=False,
    )
    return figure
