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
FEWEST_ENTRIES = 1000  # in all the matrices of a figure; below that, rounding saves nothing worth having


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
        raise BadFigureError("a plotly figure without alternative text: say in layout.meta.alt what is to be seen")
    height = layout.get("height") or DEFAULT_HEIGHT
    narrow_height = (meta.get("narrow") or {}).get("height") or height
    text = json.dumps(shrink(figure), separators=(",", ":"), ensure_ascii=False)
    # "<" occurs in JSON only within strings, where \u003c means the same and cannot end the script element.
    text = text.replace("<", "\\u003c")
    alt = html.escape(alt)
    plays = " data-plays" if meta.get("plays") else ""
    return (
        f'<figure class="book-figure"{plays} aria-label="{alt}"'
        f' style="--height:{height}px;--narrow-height:{narrow_height}px">'
        f'<script type="{MIME}">{text}</script>'
        f"<noscript><p>This figure needs JavaScript. What it shows: {alt}</p></noscript></figure>\n"
    )


def shrink(figure: dict) -> dict:
    """`figure` with its heatmaps rounded to what an eye can tell apart, and written as whole numbers.

    A float32 matrix hardly compresses; a rounded one costs a quarter on the wire. Heatmaps' `z` are touched and nothing
    else: in traces, in frames, and in the arguments of menu buttons and slider steps.
    """
    layout = figure.get("layout") or {}
    ranges = [_colour_range(trace, layout) for trace in figure["data"]]
    everywhere = range(len(ranges))
    entries = 0
    frame_before = {}  # trace number → step, and the matrix in steps

    def shrink_matrix(z, trace_number: int, of_frame: bool = False):
        """A heatmap's float matrix in the form of `_packed`; anything else as it was.

        In a frame, only the changes since the frame before are kept: training moves most entries little.
        """
        nonlocal entries
        values = _float_matrix(z) if ranges[trace_number] is not None else None
        if values is None:
            return z
        entries += values.size
        step = round_step((ranges[trace_number] or np.nanmax(np.abs(values))) / STEPS_PER_RANGE)
        in_steps = np.rint(values / step)
        if not of_frame:
            return _packed(in_steps, step)
        step_before, before = frame_before.get(trace_number, (None, None))
        frame_before[trace_number] = step, in_steps
        if step != step_before or in_steps.shape != before.shape or np.isnan(in_steps + before).any():
            return dict(_packed(in_steps, step), trace=trace_number)
        return dict(_packed(in_steps - before, step), trace=trace_number, changes=True)

    def shrink_traces(traces: list, trace_numbers, of_frame: bool = False) -> list:
        numbered = zip(traces, trace_numbers, strict=False)
        return [dict(t, z=shrink_matrix(t["z"], n, of_frame)) if "z" in t else t for t, n in numbered]

    def shrink_frame(frame: dict) -> dict:
        traces, numbers = frame.get("data"), frame.get("traces") or everywhere
        return dict(frame, data=shrink_traces(traces, numbers, of_frame=True)) if traces else frame

    def shrink_call(call: dict) -> dict:
        """A menu button or slider step: `restyle` and `update` take {"z": [a matrix per trace]} and trace numbers."""
        args = call.get("args") or [{}]
        if call.get("method") not in ("restyle", "update") or not isinstance(args[0].get("z"), list):
            return call
        numbered = zip(args[0]["z"], args[-1] if isinstance(args[-1], list) else everywhere, strict=False)
        return dict(call, args=[dict(args[0], z=[shrink_matrix(z, n) for z, n in numbered]), *args[1:]])

    small = dict(figure, data=shrink_traces(figure["data"], everywhere))
    if figure.get("frames"):
        small["frames"] = [shrink_frame(frame) for frame in figure["frames"]]
    for container, calls in (("updatemenus", "buttons"), ("sliders", "steps")):
        if layout.get(container):
            items = [
                dict(item, **{calls: [shrink_call(call) for call in item.get(calls) or []]})
                for item in layout[container]
            ]
            small["layout"] = dict(small["layout"], **{container: items})
    return small if entries >= FEWEST_ENTRIES else figure


def _colour_range(trace: dict, layout: dict) -> float | None:
    """A heatmap's zmax − zmin; 0 where the figure sets none; None for other traces."""
    if trace.get("type") != "heatmap":
        return None
    axis = layout.get(trace.get("coloraxis")) or {}
    low, high = (axis.get("cmin"), axis.get("cmax")) if axis else (trace.get("zmin"), trace.get("zmax"))
    return high - low if low is not None and high is not None else 0


def _float_matrix(z) -> np.ndarray | None:
    """plotly's typed array, or its list of rows (what it makes of an array in a button's arguments), of floats."""
    if isinstance(z, dict) and z.get("dtype") in ("f4", "f8") and "shape" in z:
        shape = [int(n) for n in z["shape"].split(",")]
        values = np.frombuffer(base64.b64decode(z["bdata"]), "<" + z["dtype"]).reshape(shape).astype(float)
    elif isinstance(z, list) and z and all(isinstance(row, list) and len(row) == len(z[0]) for row in z):
        if not any(isinstance(entry, float) for row in z for entry in row):
            return None
        values = np.array(z, dtype=float)
    else:
        return None
    # Nothing but zeros and gaps gives no step to round to.
    return values if np.nan_to_num(values, posinf=0, neginf=0).any() and not np.isinf(values).any() else None


def _packed(in_steps: np.ndarray, step: float) -> dict:
    """A matrix of whole numbers, row by row; of a symmetric one the entries up to the diagonal. NaN becomes null."""
    symmetric = np.array_equal(in_steps, in_steps.T)
    kept = in_steps[np.tril_indices(len(in_steps))] if symmetric else in_steps.ravel()
    ints = [None if np.isnan(n) else int(n) for n in kept.tolist()]
    return {"step": step, "shape": list(in_steps.shape), "ints": ints}


def round_step(bound: float) -> float:
    """The largest of 1, 2, 5 · 10^k that is not above `bound`: rounded values then look like rounded values."""
    exponent = math.floor(math.log10(bound))
    return max(
        step
        for k in (exponent - 1, exponent, exponent + 1)
        for step in (float(f"{m}e{k}") for m in (1, 2, 5))
        if step <= bound
    )
