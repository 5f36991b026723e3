"""A plotly figure's JSON as a piece of HTML, made small for its way to the reader.

Knows plotly's JSON and nothing of Sphinx. `static/book.js` is the other half: it reads what is written here.
"""

import base64
import html
import json
import math

import numpy as np

MIME = "application/vnd.plotly.v1+json"
DEFAULT_HEIGHT = 450  # plotly's own, for a figure that sets none
STEPS_PER_RANGE = 500  # a matrix is rounded to steps of at most 1/500 of the figure's colour range
SMALLEST_MATRIX = 1000  # entries; below that, rounding saves nothing worth having


class BadFigureError(ValueError):
    """What was to be shown is no figure that the site can show; the message says why."""


def figure_html(figure: dict) -> str:
    """`figure` (plotly's JSON) as a `<figure>` that `book.js` draws when the reader comes near."""
    if not isinstance(figure, dict) or not isinstance(figure.get("data"), list):
        raise BadFigureError("a plotly output without a list of traces")
    layout = figure.get("layout") or {}
    meta = layout.get("meta")
    alt = meta.get("alt") if isinstance(meta, dict) else None
    if not isinstance(alt, str) or not alt.strip():
        raise BadFigureError(
            "a plotly figure without alternative text: set layout.meta.alt to what is to be seen in it"
        )
    height = layout.get("height") or DEFAULT_HEIGHT
    narrow_height = (meta.get("narrow") or {}).get("height") or height
    text = json.dumps(shrink(figure), separators=(",", ":"), ensure_ascii=False)
    # "<" occurs in JSON only within strings, where \u003c means the same and cannot end the script element.
    text = text.replace("<", "\\u003c")
    alt = html.escape(alt)
    return (
        f'<figure class="book-figure" aria-label="{alt}"'
        f' style="--height:{height}px;--narrow-height:{narrow_height}px">'
        f'<script type="{MIME}">{text}</script>'
        f"<noscript><p>This figure needs JavaScript. What it shows: {alt}</p></noscript></figure>\n"
    )


def shrink(figure: dict) -> dict:
    """`figure` with its large heatmaps rounded to what an eye can tell apart, and written as whole numbers.

    A float32 matrix hardly compresses; a rounded one costs a quarter on the wire. Heatmaps' `z` are touched and nothing
    else: in traces, in frames, and in the arguments of menu buttons and slider steps.
    """
    layout = figure.get("layout") or {}
    ranges = [_colour_range(trace, layout) for trace in figure["data"]]
    everywhere = range(len(ranges))

    def shrink_matrices(matrices: list, trace_numbers) -> list:
        return [_shrink_matrix(z, ranges[n]) for z, n in zip(matrices, trace_numbers, strict=False)]

    def shrink_traces(traces: list, trace_numbers) -> list:
        numbered = zip(traces, trace_numbers, strict=False)
        return [dict(t, z=_shrink_matrix(t["z"], ranges[n])) if "z" in t else t for t, n in numbered]

    def shrink_frame(frame: dict) -> dict:
        traces = frame.get("data")
        return dict(frame, data=shrink_traces(traces, frame.get("traces") or everywhere)) if traces else frame

    def shrink_call(call: dict) -> dict:
        """A menu button or slider step: `restyle` and `update` take {"z": [a matrix per trace]} and trace numbers."""
        args = call.get("args") or [{}]
        if call.get("method") not in ("restyle", "update") or not isinstance(args[0].get("z"), list):
            return call
        trace_numbers = args[-1] if isinstance(args[-1], list) else everywhere
        return dict(call, args=[dict(args[0], z=shrink_matrices(args[0]["z"], trace_numbers)), *args[1:]])

    small = dict(figure, data=shrink_traces(figure["data"], everywhere))
    if figure.get("frames"):
        small["frames"] = [shrink_frame(frame) for frame in figure["frames"]]
    for container, calls in (("updatemenus", "buttons"), ("sliders", "steps")):
        if layout.get(container):
            items = [
                dict(item, **{calls: [shrink_call(c) for c in item.get(calls) or []]}) for item in layout[container]
            ]
            small["layout"] = dict(small["layout"], **{container: items})
    return small


def _colour_range(trace: dict, layout: dict) -> float | None:
    """A heatmap's zmax − zmin; 0 where the figure sets none; None for other traces."""
    if trace.get("type") != "heatmap":
        return None
    axis = layout.get(trace.get("coloraxis")) or {}
    low, high = (axis.get("cmin"), axis.get("cmax")) if axis else (trace.get("zmin"), trace.get("zmax"))
    return high - low if low is not None and high is not None else 0


def _shrink_matrix(z, colour_range: float | None):
    """A heatmap's large float matrix as {"step", "shape", "ints"}; anything else as it was. NaN becomes null."""
    if colour_range is None or not isinstance(z, dict) or z.get("dtype") not in ("f4", "f8") or "shape" not in z:
        return z
    shape = [int(n) for n in z["shape"].split(",")]
    values = np.frombuffer(base64.b64decode(z["bdata"]), dtype="<" + z["dtype"]).astype(float)
    finite = np.isfinite(values)
    largest = np.abs(values[finite]).max(initial=0.0)
    if len(values) < SMALLEST_MATRIX or largest == 0 or np.isinf(values).any():
        return z
    step = round_step((colour_range or largest) / STEPS_PER_RANGE)
    ints = np.rint(np.where(finite, values, 0.0) / step)
    numbers = [int(n) if ok else None for n, ok in zip(ints.tolist(), finite.tolist(), strict=True)]
    return {"step": step, "shape": shape, "ints": numbers}


def round_step(bound: float) -> float:
    """The largest of 1, 2, 5 · 10^k that is not above `bound`: rounded values then look like rounded values."""
    exponent = math.floor(math.log10(bound))
    return max(
        step
        for k in (exponent - 1, exponent, exponent + 1)
        for step in (float(f"{m}e{k}") for m in (1, 2, 5))
        if step <= bound
    )
