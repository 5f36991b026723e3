"""Checks of the book's exercises, a module for each chapter.

A check takes a reader's answer and prints whether it is right, or what is wrong with it, without giving the right
one away. An answer of `...` (the stub that the chapters leave to fill in) is told from a wrong one.
"""

import functools
from collections.abc import Callable

import numpy as np


def exercise(check: Callable[..., str | None]) -> Callable[..., None]:
    """Make a check that a reader's cell calls from a function that returns a complaint, or None if all is well."""

    @functools.wraps(check)
    def feedback(answer) -> None:
        parts = answer if isinstance(answer, tuple | list) else [answer]
        if any(part is ... for part in parts):
            print("… no answer yet: replace the dots and run the cell again.")
            return
        try:
            complaint = check(answer)
        except Unusable as error:
            complaint = str(error)
        print(f"✗ Not yet. {complaint}" if complaint else "✓ Right.")

    return feedback


class Unusable(Exception):
    """An answer that cannot be looked at any further; the message is the complaint."""


def call(answer, given: str, *arguments):
    """What a reader's function returns; `given` names the arguments in words.

    Raises:
        Unusable: the answer is no function, or it stops.
    """
    if not callable(answer):
        raise Unusable(f"The answer must be a function, not {type(answer).__name__}.")
    try:
        with np.errstate(all="ignore"):
            return answer(*arguments)
    except Exception as error:
        raise Unusable(f"Called with {given}, your function stops with {type(error).__name__}: {error}") from error


def number_complaint(answer, truth: float, tolerance: float, hint: str) -> str | None:
    """What is wrong with a numerical answer; `hint` is said of a wrong number, and not of what is no number."""
    try:
        value = float(answer)
    except (TypeError, ValueError):
        return f"The answer must be a number, not {type(answer).__name__}."
    if not np.isfinite(value):
        return f"The answer must be a finite number, not {value}."
    return None if abs(value - truth) <= tolerance * abs(truth) else hint


def array_complaint(answer, truth: np.ndarray, tolerance: float, hint: str) -> str | None:
    """What is wrong with an array: first its shape, then its values (largest error over the largest true value)."""
    try:
        value = np.asarray(answer, float)
    except (TypeError, ValueError):
        return f"The answer must be an array of numbers, not {type(answer).__name__}."
    if value.shape != truth.shape:
        return f"The shape is {value.shape}; it must be {truth.shape}."
    if not np.isfinite(value).all():
        return "Some entries are not finite numbers."
    return None if abs(value - truth).max() <= tolerance * abs(truth).max() else hint
