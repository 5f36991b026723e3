"""The book's plotly figures, one look for all. Takes arrays; knows no model and no training.

Matrices stand in topic order with thin lines between topics and row 0 at the top. Signed matrices get a
colour-blind safe diverging map centred at 0, attention a sequential one from 0. Sliders and menus are plotly's
own, so that they work in a static page. `layout.meta["alt"]` says in words what is to be seen.
Letters in shapes: D documents, N positions, V words, K frames.
"""

from itertools import pairwise
from textwrap import wrap

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from .checks import check_int
from .documents import FIRST_WORD, MASK, PAD, MaskedDocuments
from .measures import block_means

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe & Ito: told apart by all
THIN = "#2A86D1"  # the first of them for thin marks, as far from white as from a dark page's black
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SIGNED, FROM_ZERO = "RdBu_r", "Cividis"
LINE = "rgba(128,128,128,0.7)"  # seen on light and on dark ground
SQUARE, SQUARE_ON_PHONE, SLIDER = 560, 440, 150  # pixels: a matrix figure, and the height of slider and buttons
TEXT_KEYS = {"same_word": "same word", "same_topic": "same topic", "different_topic": "different topic"}


def matrix_figure(
    matrix: np.ndarray,
    word_topics: np.ndarray,
    *,
    title: str,
    limit: float | None = None,
    signed: bool = True,
    rows: str = "word",
    columns: str = "word",
    names: list[str] | None = None,
) -> go.Figure:
    """A (V, V) matrix between words, in topic order, with the means of its blocks.

    Args:
        word_topics: (V,) the topic of each word.
        limit: the colours span −limit … limit (0 … limit if not signed); chosen from the data if not given.
        signed: diverging colours around 0, or sequential ones from 0.
        rows, columns: the role that a row's or a column's word plays, "query" and "key", say.
        names: V different texts to show of the words instead of their ids.

    Raises:
        ValueError: a matrix that is not (V, V), or a limit that is not above 0.
    """
    matrix, limit = _check_stack(np.asarray(matrix)[None], word_topics, limit)
    names = names or _word_names(word_topics)
    figure = go.Figure(_heatmap(matrix[0], names, limit, signed, rows, columns))
    _topic_axes(figure, word_topics, rows, columns, names)
    means = _means_text(matrix[0], word_topics, limit)
    alt = f"{title}: {len(word_topics)} × {len(word_topics)} words in topic order. Means: {means}."
    finish(figure, title, _two_lines(means), alt, SQUARE, narrow={"height": SQUARE_ON_PHONE})
    figure.update_layout(width=SQUARE)
    return figure


def slider_figure(
    stack: np.ndarray,
    labels: list,
    word_topics: np.ndarray,
    *,
    title: str,
    slider: str = "step",
    limit: float | None = None,
    signed: bool = True,
    rows: str = "word",
    columns: str = "word",
    plays: bool = False,
) -> go.Figure:
    """A stack of (V, V) matrices behind one slider, with play and pause; colours fixed, so that growth is seen.

    The figure opens on the last matrix; Play shows all from the first one on.

    Args:
        stack: (K, V, V), for instance a matrix at the checkpoints of a training run.
        labels: K names of the slider's positions, for instance the checkpoints' steps.
        slider: what the slider goes through, for instance "step" or "α".
        limit, signed, rows, columns: as in `matrix_figure`; the limit is chosen for the last matrix.
        plays: in the book's page, show all matrices once as the page opens.

    Raises:
        ValueError: shapes that do not fit, or a limit that is not above 0.
    """
    stack, limit = _check_stack(stack, word_topics, limit)
    labels = _check_labels(labels, stack)
    figure = go.Figure(_heatmap(stack[-1], _word_names(word_topics), limit, signed, rows, columns))
    _topic_axes(figure, word_topics, rows, columns)
    means = [_means_text(matrix, word_topics, limit) for matrix in stack]
    figure.frames = _frames(stack, labels)
    for frame, text in zip(figure.frames, means, strict=True):
        frame.layout = {"title": {"subtitle": {"text": _two_lines(text)}}}
    alt = (
        f"{title}, with a slider over {slider} from {labels[0]} to {labels[-1]}. "
        f"Means of the topic blocks at {labels[0]}: {means[0]}; at {labels[-1]}: {means[-1]}."
    )
    narrow = {"height": SQUARE_ON_PHONE + SLIDER}
    finish(figure, title, _two_lines(means[-1]), alt, SQUARE + SLIDER, narrow=narrow, plays=plays)
    add_slider(figure, labels, f"{slider} ")
    figure.update_layout(width=SQUARE)
    return figure


def slider_table_figure(
    stack: np.ndarray,
    labels: list,
    *,
    title: str,
    slider: str,
    rows: str,
    columns: str,
    limit: float = 1.0,
    signed: bool = False,
) -> go.Figure:
    """A stack of (R, C) tables of any kind behind one slider, rows and columns counted from 1.

    Args:
        stack: (K, R, C), for instance topic mixtures of R documents under K settings.
        labels, slider, limit, signed: as in `slider_figure`.
        rows, columns: what a row and a column is, "document" and "topic", say.

    Raises:
        ValueError: labels that do not fit, or a limit that is not above 0.
    """
    stack = np.asarray(stack, float)
    labels, limit = _check_labels(labels, stack), _check_limit(limit)
    # numbers in words, as plotly would take bare ones for places on a scale
    names = [[f"{n}" for n in range(1, size + 1)] for size in stack.shape[1:]]
    figure = go.Figure(_heatmap(stack[-1], names[0], limit, signed, rows, columns, columns_named=names[1]))
    figure.frames = _frames(stack, labels)
    figure.update_xaxes(title=columns, type="category", showgrid=False, zeroline=False, ticks="")
    figure.update_yaxes(title=rows, type="category", autorange="reversed", showgrid=False, zeroline=False, ticks="")
    alt = (
        f"{title}: {rows} by {columns}, {stack.shape[1]} × {stack.shape[2]}, with a slider over {slider} from "
        f"{labels[0]} to {labels[-1]}. Colours span {-limit if signed else 0:g} to {limit:g}."
    )
    finish(figure, title, None, alt, 420 + SLIDER)
    add_slider(figure, labels, f"{slider} ")
    return figure


def compare_figure(learned: np.ndarray, theory: np.ndarray, word_topics: np.ndarray, *, title: str) -> go.Figure:
    """Learned, theory, and learned − theory, three (V, V) matrices on one signed scale.

    Raises:
        ValueError: shapes that do not fit.
    """
    learned, theory = np.asarray(learned, float), np.asarray(theory, float)
    stack, limit = _check_stack([learned, learned - theory, theory], word_topics, None)
    panels = {"learned": stack[0], "theory": stack[2], "difference": stack[1]}
    texts = [_means_text(matrix, word_topics, limit) for matrix in panels.values()]
    heads = [f"{name}<br>{text.replace(' · ', '<br>')}" for name, text in zip(panels, texts, strict=True)]
    figure = make_subplots(1, 3, subplot_titles=heads, horizontal_spacing=0.02)
    for column, matrix in enumerate(panels.values(), start=1):
        trace = _heatmap(matrix, _word_names(word_topics), limit, True, "word", "word")
        trace.update(coloraxis="coloraxis", showscale=None, colorscale=None, zmin=None, zmax=None, colorbar=None)
        figure.add_trace(trace, 1, column)
        _topic_axes(figure, word_topics, "word", "word", row=1, col=column)
        figure.update_yaxes(title=None, showticklabels=column == 1, row=1, col=column)
    figure.update_annotations(font_size=11, yanchor="bottom")
    alt = f"{title}, three matrices on one scale. " + ". ".join(
        f"{name.capitalize()}: {text}" for name, text in zip(panels, texts, strict=True)
    )
    stacked = {"height": 1150}
    for k, axis in enumerate(("", "2", "3")):
        top = 1 - 0.37 * k
        stacked |= {f"xaxis{axis}.domain": [0, 1], f"yaxis{axis}.domain": [top - 0.26, top]}
        stacked |= {f"annotations[{k}].x": 0.5, f"annotations[{k}].y": top, f"yaxis{axis}.showticklabels": True}
    finish(figure, title, None, alt + ".", 420, narrow=stacked)
    figure.update_layout(
        margin={"t": 125},
        coloraxis={"colorscale": SIGNED, "cmin": -limit, "cmax": limit, "colorbar": {"thickness": 10}},
    )
    return figure


def block_panels_figure(settings: dict[str, dict[str, np.ndarray]], *, title: str) -> go.Figure:
    """Small multiples: for each setting its name, and below it a small picture of each of its matrices.

    Settings stand beside each other while their panels fit into a line of six, on a phone of four. Each panel has a
    scale of its own: white is the median of the entries off the diagonal, and full colour what a twentieth of them
    exceed. Values are stored in 8 bits, so that many panels make a small page.

    Args:
        settings: setting → panel → (V, V) matrix; at most four panels.

    Raises:
        ValueError: no setting, or a matrix that is not square.
    """
    if not settings:
        raise ValueError("settings is empty: there is no setting to draw")
    sizes = [len(panels) for panels in settings.values()]
    (places, height), (places_on_phone, height_on_phone) = (
        _panel_places(sizes, slots, pixels) for slots, pixels in ((6.25, 100), (4, 78))
    )
    figure, labels = go.Figure(), []
    narrow = {"height": height_on_phone + 50}
    every = [(setting, name, matrix) for setting, panels in settings.items() for name, matrix in panels.items()]
    for n, (setting, name, matrix) in enumerate(every):
        matrix = np.asarray(matrix, float)
        if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
            raise ValueError(f"{setting}, {name}: shape {matrix.shape}; a panel is a (V, V) matrix, V ≥ 2")
        entries = matrix[~np.eye(len(matrix), dtype=bool)]
        middle = np.median(entries)
        reach = np.quantile(abs(entries - middle), 0.95) or 1.0
        levels = np.clip(127.5 + 127.5 * (matrix - middle) / reach, 0, 255).round().astype(np.uint8)
        hover = f"{setting}<br>{name}<br>row %{{y}}, column %{{x}}<extra></extra>"
        axis = str(n + 1) if n else ""
        figure.add_heatmap(
            z=levels, x0=1, y0=1, coloraxis="coloraxis", hovertemplate=hover, xaxis=f"x{axis}", yaxis=f"y{axis}"
        )
        square = {"visible": False, "constrain": "domain"}
        (left, right, bottom, top), (*across, low, high) = places[n], places_on_phone[n]
        figure.layout[f"xaxis{axis}"] = {"domain": [left, right], "anchor": f"y{axis}", **square}
        figure.layout[f"yaxis{axis}"] = {
            "domain": [bottom, top], "anchor": f"x{axis}", "scaleanchor": f"x{axis}", "constraintoward": "top",
            "autorange": "reversed", **square,
        }  # fmt: skip
        narrow |= {f"xaxis{axis}.domain": across, f"yaxis{axis}.domain": [low, high]}
        texts = [(name.replace(", ", ",<br>"), 10, 0)]
        if name == next(iter(settings[setting])):
            texts.append((f"<b>{setting}</b>", 12, 26))
        for text, size, up in texts:
            narrow |= {f"annotations[{len(labels)}].x": across[0], f"annotations[{len(labels)}].y": high}
            labels.append(
                {
                    "text": text, "font": {"size": size}, "x": left, "y": top, "yshift": up, "xref": "paper",
                    "yref": "paper", "xanchor": "left", "yanchor": "bottom", "align": "left", "showarrow": False,
                }
            )  # fmt: skip
    names = dict.fromkeys(name for _, name, _ in every)
    alt = (
        f"{title}: small pictures of {', '.join(names)}, side by side for each of {len(settings)} settings: "
        f"{', '.join(settings)}. The table beside it holds their numbers."
    )
    finish(figure, title, None, alt, height + 50, narrow=narrow)
    figure.update_layout(
        annotations=labels,
        width=690,
        margin={"l": 4, "r": 4, "t": 46, "b": 4},
        coloraxis={"colorscale": SIGNED, "cmin": 0, "cmax": 255, "showscale": False},
    )
    return figure


def _panel_places(sizes, slots, pixels):
    """Where panels stand, in lines of `slots` with a head above each: [(left, right, bottom, top)], and the height."""
    line, slot, cells = 0, 0.0, []
    for size in sizes:
        if slot + size > slots:
            line, slot = line + 1, 0.0
        cells += [(line, slot + k) for k in range(size)]
        slot += size + 0.25
    head = 52
    height = (line + 1) * (pixels + head)
    tops = [1 - (line * (pixels + head) + head) / height for line, _ in cells]
    return [
        (slot / slots, (slot + 0.95) / slots, top - pixels / height, top)
        for (_, slot), top in zip(cells, tops, strict=True)
    ], height


def carrier_figure(
    attention: np.ndarray, outputs: np.ndarray, labels: list, word_topics: np.ndarray, *, title: str
) -> go.Figure:
    """The favourite key of every query word and where it is sent, behind a slider; a menu zooms into one topic.

    Rows = query. A circle stands at the key that the query attends to most, larger for more attention; a cross at
    the largest output. Opens on the last of the K pairs.

    Args:
        attention: (K, V, V), rows = query, columns = key.
        outputs: (K, V, V), rows = query, columns = output word (`measures.composed_map`).
        labels: K names of the slider's positions, such as steps.

    Raises:
        ValueError: shapes that do not fit.
    """
    attention, _ = _check_stack(attention, word_topics, 1.0)
    outputs, _ = _check_stack(outputs, word_topics, 1.0)
    labels, word_topics = _check_labels(labels, attention), np.asarray(word_topics)
    if len(outputs) != len(attention):
        raise ValueError(f"{len(attention)} attention matrices and {len(outputs)} of outputs; they must be as many")
    V = len(word_topics)
    words, numbers = np.arange(V), np.arange(V) + FIRST_WORD
    traces, texts = [], []
    for matrix, answer in zip(attention, outputs, strict=True):
        key, out, share = matrix.argmax(1), answer.argmax(1), matrix.max(1)
        hover = [
            f"query {q} (topic {t + 1})<br>attends most to {k}: {s:.0%}<br>largest output {o}"
            for q, t, k, s, o in zip(numbers, word_topics, key + FIRST_WORD, share, out + FIRST_WORD, strict=True)
        ]
        common = {"y": numbers, "mode": "markers", "hovertext": hover, "hoverinfo": "text"}
        circle = {"symbol": "circle-open", "size": (4 + 6 * share).round(1), "color": THIN, "line": {"width": 2}}
        cross = {"symbol": "x-thin", "size": 5, "line": {"width": 1.5, "color": COLOURS[1]}}
        traces.append(
            [
                go.Scatter(x=key + FIRST_WORD, name="favourite key", marker=circle, **common),
                go.Scatter(x=out + FIRST_WORD, name="largest output", marker=cross, **common),
            ]
        )
        own_topic = (word_topics[key] == word_topics).sum()
        texts.append(
            f"favourite key: own topic {own_topic}, own word {(key == words).sum()}<br>"
            f"largest output: own word {(out == words).sum()} (of {V})"
        )
    figure = go.Figure(traces[-1])
    figure.frames = [
        go.Frame(name=label, data=pair, traces=[0, 1], layout={"title": {"subtitle": {"text": text}}})
        for label, pair, text in zip(labels, traces, texts, strict=True)
    ]
    starts = np.flatnonzero(np.diff(word_topics, prepend=-1))
    ends = np.append(starts[1:], V)
    middles, names = (starts + ends - 1) / 2 + FIRST_WORD, [str(word_topics[k] + 1) for k in starts]
    whole = [-0.5, V + 1.5]  # room for the outermost circles
    axis = {"tickvals": middles, "ticktext": names, "ticks": "", "showgrid": False, "zeroline": False}
    figure.update_xaxes(title="key and output, by topic", range=whole, constrain="domain", **axis)
    figure.update_yaxes(title="query, by topic", range=whole[::-1], scaleanchor="x", constrain="domain", **axis)
    for start in starts[1:]:
        line = {"line": {"color": LINE, "width": 0.5}}
        figure.add_shape(x0=start + 0.5, x1=start + 0.5, y0=0.5, y1=V + 0.5, **line)
        figure.add_shape(y0=start + 0.5, y1=start + 0.5, x0=0.5, x1=V + 0.5, **line)
    views = {"all topics": (whole, middles, names)}
    for name, start, end in zip(names, starts, ends, strict=True):
        inside = numbers[start:end]
        views[f"topic {name}"] = ([start + 0.3, end + 0.7], inside, [str(n) for n in inside])
    menu = [
        {
            "label": name,
            "method": "relayout",
            "args": [
                {"xaxis.range": span, "yaxis.range": span[::-1]}
                | {f"{a}axis.{k}": t for a in "xy" for k, t in (("tickvals", at), ("ticktext", shown))}
            ],
        }
        for name, (span, at, shown) in views.items()
    ]
    first, last = (text.replace("<br>", "; ") for text in (texts[0], texts[-1]))
    alt = (
        f"{title}, with a slider from {labels[0]} to {labels[-1]}: a circle for the favourite key of each of {V} query "
        f"words, and a cross for the largest output. At {labels[0]}, {first}; at {labels[-1]}, {last}."
    )
    finish(figure, title, texts[-1], alt, SQUARE + SLIDER + 40, narrow={"height": SQUARE_ON_PHONE + SLIDER + 60})
    add_slider(figure, labels, "step ")
    # in the row of the slider's buttons, where it hides nothing on a phone
    place = {"x": 1, "xanchor": "right", "y": 0, "yanchor": "top", "pad": {"t": 142}, "direction": "up"}
    figure.layout.updatemenus = (*figure.layout.updatemenus, {"buttons": menu, **place})
    figure.update_layout(
        width=SQUARE, margin={"t": 130}, legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"}
    )
    return figure


def curves_figure(
    curves: dict[str, tuple[np.ndarray, np.ndarray]],
    *,
    title: str,
    x_title: str,
    y_title: str,
    references: dict[str, float] | None = None,
    log_x: bool = False,
) -> go.Figure:
    """Curves (name → x and y) and horizontal reference lines (name → y), told apart by colour and dash.

    A curve of a single point is a marker in the colour of the curve before it.

    Raises:
        ValueError: no curve, or x and y of different lengths.
    """
    if not curves:
        raise ValueError("curves is empty: there is nothing to draw")
    figure = go.Figure(_curves(curves))
    notes = [
        f"{curve.name} is at {curve.x[0]:.3g}, {curve.y[0]:.3g}"
        if len(curve.x) == 1
        else f"{curve.name} goes from {curve.y[0]:.3g} to {curve.y[-1]:.3g}"
        for curve in figure.data
    ]
    ends = [min(np.min(x) for x, _ in curves.values()), max(np.max(x) for x, _ in curves.values())]
    for number, (name, y) in enumerate((references or {}).items(), start=1):
        figure.add_scatter(
            x=ends, y=[y, y], name=name, mode="lines",
            line={"color": "#888888", "dash": DASHES[number % len(DASHES)], "width": 1.5},
        )  # fmt: skip
        notes.append(f"the line “{name}” is at {y:.3g}")
    figure.update_xaxes(title={"text": x_title, "standoff": 5}, type="log" if log_x else "linear", automargin=True)
    figure.update_yaxes(title=y_title, automargin=True)
    finish(figure, title, None, f"{title}. {y_title} against {x_title}: " + "; ".join(notes) + ".", 420)
    figure.update_layout(legend={"orientation": "h", "yanchor": "top", "y": -0.22, "x": 0}, hovermode="x unified")
    return figure


def slider_curves_figure(
    frames: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]],
    *,
    title: str,
    slider: str,
    x_title: str,
    y_title: str,
    opening: str | None = None,
    log_x: bool = False,
) -> go.Figure:
    """Curves as in `curves_figure` that change with a slider, on axes that span all of them.

    Args:
        frames: the slider's positions → curves, as many of them in each.
        slider: what the slider goes through, for instance "p_c =".
        opening: the position that the figure opens on; the last one if not given.

    Raises:
        ValueError: no frame, frames of different numbers of curves, an opening that is no frame, or curves as in
            `curves_figure`.
    """
    if not frames:
        raise ValueError("frames is empty: there is nothing to draw")
    labels, numbers = list(frames), [len(curves) for curves in frames.values()]
    opening = labels[-1] if opening is None else opening
    if opening not in labels or len(set(numbers)) > 1:
        raise ValueError(f"opening = {opening!r} must be one of {labels}, and all must have as many curves: {numbers}")
    figure = curves_figure(frames[opening], title=title, x_title=x_title, y_title=y_title, log_x=log_x)
    figure.frames = [
        go.Frame(name=label, data=_curves(curves), traces=list(range(len(curves)))) for label, curves in frames.items()
    ]
    drawn = [curve for frame in figure.frames for curve in frame.data]
    x, y = (np.concatenate([np.asarray(curve[axis], float) for curve in drawn]) for axis in "xy")
    figure.update_xaxes(range=_span(np.log10(x) if log_x else x)).update_yaxes(range=_span(y))
    figure.layout.meta["alt"] += f" A slider goes over {slider} {labels[0]} to {labels[-1]}; it is at {opening}."
    rows = 20 * len(figure.data)  # a phone has the legend's entries below each other, under the title
    figure.layout.meta["narrow"] = {"height": 340 + SLIDER + rows, "margin.t": 60 + rows}
    add_slider(figure, labels, f"{slider} ", labels.index(opening))
    figure.update_layout(height=380 + SLIDER, legend={"y": 1.0, "yanchor": "bottom"}, margin={"t": 110})
    return figure


def panels_figure(
    panels: dict[str, dict[str, tuple[np.ndarray, np.ndarray]]], *, title: str, x_title: str, y_title: str
) -> go.Figure:
    """Small multiples, two in a row: panel's title → the same curves by name, in one style throughout.

    Raises:
        ValueError: no panel, or curves as in `curves_figure`.
    """
    if not panels:
        raise ValueError("panels is empty: there is nothing to draw")
    rows = -(-len(panels) // 2)
    heads = ["<br>".join(head.rsplit(", ", 1)) for head in panels]  # two short lines fit a phone
    figure = make_subplots(rows, 2, subplot_titles=heads, vertical_spacing=0.4 / rows)
    for number, curves in enumerate(panels.values()):
        for curve in _curves(curves):
            curve.update(showlegend=number == 0)
            figure.add_trace(curve, number // 2 + 1, number % 2 + 1)
    figure.update_annotations(font_size=11)
    figure.update_xaxes(title={"text": x_title, "standoff": 4}, row=rows)
    alt = f"{title}: {y_title} against {x_title} in {len(panels)} panels, {'; '.join(panels)}. "
    alt += f"In each: {', '.join(next(iter(panels.values())))}."
    finish(figure, title, None, alt, 140 + 195 * rows)
    figure.update_layout(
        margin={"t": 110, "b": 90}, legend={"orientation": "h", "x": 0, "y": -0.2 / rows, "yanchor": "top"}
    )
    return figure


def stages_figure(
    matrices: dict[str, np.ndarray],
    labels: list,
    word_topics: np.ndarray,
    curves: dict[str, tuple[np.ndarray, np.ndarray]],
    *,
    title: str,
    limits: tuple[float, float],
    roles: tuple[tuple[str, str], tuple[str, str]],
) -> go.Figure:
    """Two stacks of (V, V) matrices side by side behind one slider, and curves below with a line at what is shown.

    Args:
        matrices: name → (K, V, V), two of them.
        labels: the K steps at which the matrices are shown.
        curves: name → x (steps) and y.
        limits: the colours of each matrix span −limit … limit.
        roles: for each matrix, the roles of its rows and of its columns.

    Raises:
        ValueError: shapes that do not fit, or limits that are not above 0.
    """
    stacks = [
        _check_stack(stack, word_topics, limit)[0] for stack, limit in zip(matrices.values(), limits, strict=True)
    ]
    for stack in stacks:
        labels = _check_labels(labels, stack)
    specs = [[{}, {}], [{"colspan": 2}, None]]
    figure = make_subplots(
        2, 2, specs=specs, row_heights=[0.6, 0.4], horizontal_spacing=0.17, vertical_spacing=0.24,
        subplot_titles=list(matrices),
    )  # fmt: skip
    for n, (stack, limit, (rows, columns)) in enumerate(zip(stacks, limits, roles, strict=True), start=1):
        colours = "coloraxis" + "2" * (n - 1)  # of the layout, as a phone moves the bar
        bar = {"thickness": 10, "len": 0.5, "y": 0.77, "x": (0.42, 1.0)[n - 1], "xpad": 2}
        figure.update_layout({colours: {"colorscale": SIGNED, "cmin": -limit, "cmax": limit, "colorbar": bar}})
        trace = _heatmap(stack[-1], _word_names(word_topics), limit, True, rows, columns)
        trace.update(coloraxis=colours, colorscale=None, zmin=None, zmax=None, colorbar=None)
        figure.add_trace(trace, 1, n)
        _topic_axes(figure, word_topics, rows, columns, row=1, col=n)
        figure.update_xaxes(domain=((0, 0.42), (0.58, 1))[n - 1], title_standoff=4, row=1, col=n)
        figure.update_yaxes(constraintoward="top", title_standoff=4, row=1, col=n)
    for curve in _curves(curves):
        figure.add_trace(curve, 2, 1)
    ends = [min(np.min(y) for _, y in curves.values()), max(np.max(y) for _, y in curves.values())]
    line = {"color": "#888888", "width": 2}
    figure.add_scatter(x=[float(labels[-1])] * 2, y=ends, mode="lines", line=line, name="shown above", row=2, col=1)
    figure.update_xaxes(title={"text": "step", "standoff": 4}, row=2, col=1)
    texts = [
        " · ".join(
            f"{name}: same − different {block_means(stack[k], word_topics).gap:.3g}".replace("-", "−")
            for name, stack in zip(matrices, stacks, strict=True)
        )
        for k in range(len(labels))
    ]
    figure.frames = [
        go.Frame(
            name=label,
            data=[go.Heatmap(z=stack[k].astype(np.float32)) for stack in stacks]
            + [go.Scatter(x=[float(label)] * 2, y=ends)],
            traces=[0, 1, len(figure.data) - 1],
            layout={"title": {"subtitle": {"text": _two_lines(texts[k])}}},
        )
        for k, label in enumerate(labels)
    ]
    narrow = {"height": 1250, "yaxis3.domain": [0, 0.2], "legend.y": 0.35, "legend.yanchor": "top"}
    for n, (axis, top) in enumerate((("", 1), ("2", 0.67))):
        narrow |= {f"xaxis{axis}.domain": [0, 0.9], f"yaxis{axis}.domain": [top - 0.24, top]}
        narrow |= {f"annotations[{n}].x": 0.45, f"annotations[{n}].y": top}
        narrow |= {f"coloraxis{axis}.colorbar.x": 0.91, f"coloraxis{axis}.colorbar.y": top - 0.12}
        narrow |= {f"coloraxis{axis}.colorbar.len": 0.24}
    alt = (
        f"{title}: {' and '.join(matrices)}, {len(word_topics)} × {len(word_topics)} words in topic order, above "
        f"curves of {', '.join(curves)}, with a slider. At {labels[0]} {texts[0]}; at {labels[-1]} {texts[-1]}."
    )
    finish(figure, title, _two_lines(texts[-1]), alt, 860, narrow=narrow)
    add_slider(figure, labels, "step ")
    figure.update_layout(
        margin={"r": 50, "t": 110}, legend={"orientation": "h", "x": 0, "y": 0.32, "yanchor": "bottom"}
    )
    return figure


def loss_figure(losses: dict[str, np.ndarray], *, title: str, y_title: str, references: dict[str, float]) -> go.Figure:
    """Loss curves (name → (S,)), averaged over ever longer stretches of steps, with reference lines."""
    curves = {}
    for name, loss in losses.items():
        edges = np.unique(np.geomspace(1, len(loss) + 1, 80).astype(int)) - 1
        means = [loss[a:b].mean() for a, b in pairwise(edges)]
        curves[name] = (edges[1:], np.array(means))
    return curves_figure(curves, title=title, x_title="step", y_title=y_title, references=references, log_x=True)


def document_figure(
    masked: MaskedDocuments, attention: np.ndarray, word_topics: np.ndarray, *, title: str, columns: int = 12
) -> go.Figure:
    """Documents in reading order, shaded by the attention that one query gives to each position.

    A menu chooses the document, a second one the query; in the book's pages a click on a word chooses it, too.
    Positions that show the same id have the same attention, so the menu lists ids.

    Args:
        masked: a few documents.
        attention: (D, N, N), rows = query, columns = key.
        word_topics: (V,) the topic of each word.
        columns: words a line.

    Raises:
        ValueError: attention that does not fit the documents.
    """
    attention = np.asarray(attention)
    D, N = masked.shown.shape
    if attention.shape != (D, N, N):
        raise ValueError(f"attention has shape {attention.shape}; these documents need {(D, N, N)}")
    check_int("columns", columns, 1)
    lines = -(-N // columns)
    padding = lines * columns - N
    top = float(attention.max()) or 1.0

    def grid(values, fill):
        return np.pad(values, (0, padding), constant_values=fill).reshape(lines, columns)

    figure, menus = go.Figure(), []
    for d in range(D):
        present = masked.present[d]
        names = np.array([_cell_name(i) for i in masked.shown[d]], object)
        hover = [
            _cell_text(n, i, w, word_topics)
            for n, (i, w) in enumerate(zip(masked.shown[d], masked.words[d], strict=True))
        ]
        queries, first = np.unique(masked.shown[d][present], return_index=True)
        shades = [
            grid(np.where(present, attention[d, np.flatnonzero(present)[n]], np.nan), np.nan).astype(np.float32)
            for n in first
        ]
        opening = int(queries[0] == MASK and len(queries) > 1)  # a word: a query that shows [MASK] says the least
        figure.add_heatmap(
            z=shades[opening],
            text=grid(names, ""),
            texttemplate="%{text}",
            hovertext=grid(np.array(hover, object), ""),
            hovertemplate="%{hovertext}<br>attention %{z:.4f}<extra></extra>",
            coloraxis="coloraxis",
            visible=d == 0,
            xgap=1,
            ygap=1,
        )
        menus.append(
            {
                "buttons": [
                    {"label": _cell_name(query), "method": "restyle", "args": [{"z": [shade]}, [d]]}
                    for query, shade in zip(queries, shades, strict=True)
                ],
                "active": opening,
                "visible": d == 0,
                "x": 1.0,
                "xanchor": "right",
            }
        )
    chooser = {
        "x": 0.0,
        "xanchor": "left",
        "buttons": [
            {
                "label": f"document {d + 1}",
                "method": "update",
                "args": [
                    {"visible": [e == d for e in range(D)]},
                    {f"updatemenus[{e + 1}].visible": e == d for e in range(D)},
                ],
            }
            for d in range(D)
        ],
    }
    place = {"y": 1.0, "yanchor": "bottom", "pad": {"b": 8}, "showactive": True}
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False, autorange="reversed")
    alt = (
        f"{title}: {D} documents of up to {N} words in reading order, each word shaded by the attention that the "
        f"chosen query gives it, from 0 to {top:.3g}. Menus choose the document and the query."
    )
    note, narrow = "shade: attention from the chosen query · ?: [MASK]", {"coloraxis.showscale": False}
    finish(figure, title, note, alt, 150 + 34 * lines, click=True, narrow=narrow)
    figure.update_layout(
        updatemenus=[menu | place for menu in (chooser, *menus)],
        margin={"t": 120, "l": 10},
        coloraxis={"colorscale": FROM_ZERO, "cmin": 0, "cmax": top, "colorbar": {"thickness": 10}},
    )
    return figure


def _cell_name(shown):
    return "" if shown == PAD else "?" if shown == MASK else str(shown)


def _cell_text(position, shown, word, word_topics):
    if shown == PAD:
        return ""
    if shown == MASK:
        return f"position {position + 1}: [MASK], hides word {word}, topic {word_topics[word - FIRST_WORD] + 1}"
    return f"position {position + 1}: word {shown}, topic {word_topics[shown - FIRST_WORD] + 1}"


def _check_stack(stack, word_topics, limit):
    """The stack as (K, V, V) floats, and the limit of its colours."""
    stack, V = np.asarray(stack, float), len(word_topics)
    if stack.ndim != 3 or stack.shape[1:] != (V, V) or not len(stack):
        raise ValueError(f"matrices of shape {stack.shape[1:]} do not fit {V} words; they must be ({V}, {V})")
    if limit is None:
        # Most of the last matrix in full colour; a bright diagonal may saturate. One digit, so that it reads well.
        reach = 1.5 * np.quantile(abs(stack[-1]), 0.98) or 1.0
        unit = 10.0 ** np.floor(np.log10(reach))
        limit = float(np.ceil(reach / unit) * unit)
    return stack, _check_limit(limit)


def _check_limit(limit):
    if not 0 < limit < np.inf:
        raise ValueError(f"limit = {limit} must be above 0 and finite")
    return limit


def _curves(curves):
    """A trace for each curve, name → x and y; a single point takes the style of the curve before it."""
    traces, lines = [], 0
    for name, (x, y) in curves.items():
        x, y = np.asarray(x), np.asarray(y, float)
        if x.shape != y.shape or x.ndim != 1 or not len(x):
            raise ValueError(f"{name}: x has shape {x.shape} and y {y.shape}; both must be (S,), S ≥ 1")
        point = len(x) == 1
        lines += not point
        number = max(lines - 1, 0)
        style = {"color": COLOURS[number % len(COLOURS)]}
        look = (
            {"mode": "markers", "marker": style | {"size": 10}}
            if point
            else {"mode": "lines", "line": style | {"dash": DASHES[number % len(DASHES)], "width": 2}}
        )
        traces.append(go.Scatter(x=x, y=y, name=name, **look))
    return traces


def _span(values):
    """A little more than from the least value to the largest."""
    low, high = values.min(), values.max()
    edge = 0.05 * (high - low) or 1.0
    return [low - edge, high + edge]


def _check_labels(labels, stack):
    labels = [str(label) for label in labels]
    if len(labels) != len(stack) or len(set(labels)) != len(labels):
        raise ValueError(f"{len(labels)} labels ({len(set(labels))} different) for a stack of {len(stack)} matrices")
    return labels


def _word_names(word_topics):
    return [f"{i + FIRST_WORD} (topic {t + 1})" for i, t in enumerate(word_topics)]


def _frames(stack, labels):
    return [
        go.Frame(name=label, data=[go.Heatmap(z=matrix.astype(np.float32))], traces=[0])
        for label, matrix in zip(labels, stack, strict=True)
    ]


def _heatmap(matrix, names, limit, signed, rows, columns, columns_named=None):
    return go.Heatmap(
        z=matrix.astype(np.float32),
        x=columns_named or names,
        y=names,
        zmin=-limit if signed else 0,
        zmax=limit,
        colorscale=SIGNED if signed else FROM_ZERO,
        colorbar={"thickness": 10},
        hovertemplate=f"{rows} %{{y}}<br>{columns} %{{x}}<br>value %{{z:.4f}}<extra></extra>",
    )


def _topic_axes(figure, word_topics, rows, columns, names=None, **cell):
    """Square cells, row 0 at the top, topic numbers on the margins, lines between topics."""
    word_topics, names = np.asarray(word_topics), names or _word_names(word_topics)
    starts = np.flatnonzero(np.diff(word_topics, prepend=-1))
    ends = np.append(starts[1:], len(word_topics))
    shown = range(0, len(starts), -(-len(starts) // 12))  # more than twelve numbers would overlap on a phone
    ticks = {
        "tickvals": [names[(starts[k] + ends[k] - 1) // 2] for k in shown],
        "ticktext": [str(word_topics[starts[k]] + 1) for k in shown],
        "ticks": "",
        "showgrid": False,
        "zeroline": False,
        "tickangle": 0,
        "constrain": "domain",
    }
    figure.update_xaxes(title=f"{columns}, by topic", **ticks, **cell)
    figure.update_yaxes(title=f"{rows}, by topic", autorange="reversed", scaleanchor="x", **ticks, **cell)
    if cell:
        figure.update_yaxes(scaleanchor=f"x{cell['col']}", **cell)
    for start in starts[1:]:
        line = {"line": {"color": LINE, "width": 0.5}, **cell}
        figure.add_shape(x0=start - 0.5, x1=start - 0.5, y0=-0.5, y1=len(names) - 0.5, **line)
        figure.add_shape(y0=start - 0.5, y1=start - 0.5, x0=-0.5, x1=len(names) - 0.5, **line)


def _means_text(matrix, word_topics, limit):
    """Means by relation, with as many decimals as the colour range calls for."""
    digits = max(0, 2 - int(np.floor(np.log10(limit))))
    means = block_means(matrix, word_topics)._asdict()
    parts = [f"{TEXT_KEYS[name]} {value:.{digits}f}" for name, value in means.items() if np.isfinite(value)]
    return " · ".join(parts).replace("-", "−")


def _two_lines(text):
    """A phone is too narrow for three means side by side."""
    return "<br>".join(text.rsplit(" · ", 1))


def add_slider(figure, labels, prefix, active=-1):
    """A slider over the frames and buttons that play them; the figure opens on one of them."""
    still = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}
    playing = {"frame": {"duration": 250, "redraw": True}, "transition": {"duration": 0}}
    figure.update_layout(
        sliders=[
            {
                "steps": [{"label": label, "method": "animate", "args": [[label], still]} for label in labels],
                "active": active % len(labels),
                "currentvalue": {"prefix": prefix},
                "pad": {"t": 60},
                "x": 0,
                "len": 1,
            }
        ],
        updatemenus=[
            {
                "type": "buttons",
                "direction": "right",
                "buttons": [
                    {"label": "▶ Play", "method": "animate", "args": [labels, playing]},
                    {"label": "❚❚ Pause", "method": "animate", "args": [[None], still]},
                ],
                "showactive": False,
                "x": 0,
                "xanchor": "left",
                "y": 0,
                "yanchor": "top",
                "pad": {"t": 142},
            }
        ],
        margin={"b": 50 + SLIDER},
    )


def finish(figure, title, subtitle, alt, height, **meta):
    """What all figures share.

    `layout.meta` speaks to the page: "alt" is what a screen reader says, "narrow" what changes in the layout on a
    phone, "click" lets a click on a cell press the menu's button of that name, and "plays" shows all frames once
    as the page opens.
    """
    narrow = {"title.font.size": 14, "title.text": "<br>".join(wrap(title, 42))} | meta.get("narrow", {})
    figure.update_layout(
        template="none",  # plotly's default one adds 7 KB a figure; the page brings its colours
        title={
            "text": title,
            "x": 0.01,
            "y": 0.99,
            "yref": "container",
            "yanchor": "top",
            "pad": {"t": 12},
            "subtitle": {"text": subtitle, "font": {"size": 12}} if subtitle else None,
        },
        height=height,
        margin={"l": 50, "r": 16, "t": 90, "b": 50},
        font={"size": 12},
        meta={"alt": alt, **meta, "narrow": narrow},
    )
