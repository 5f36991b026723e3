"""Checks of arguments: each raises a ValueError that names the argument, its value and the bound."""

import numbers


def check_probability(name: str, value: float) -> float:
    """Return `value` as a float if it lies in [0, 1]."""
    if not isinstance(value, numbers.Real) or not 0 <= value <= 1:
        raise ValueError(f"{name} = {value!r} must be a number in [0, 1]")
    return float(value)


def check_int(name: str, value: int, low: int, high: int | None = None) -> int:
    """Return `value` as an int if it is a whole number with low ≤ value (≤ high)."""
    bound = f"at least {low}" if high is None else f"between {low} and {high}"
    if (
        not isinstance(value, numbers.Integral)
        or isinstance(value, bool)
        or value < low
        or (high is not None and value > high)
    ):
        raise ValueError(f"{name} = {value!r} must be a whole number, {bound}")
    return int(value)


def check_positive(name: str, value: float) -> float:
    """Return `value` as a float if it is positive and finite."""
    if not isinstance(value, numbers.Real) or not 0 < value < float("inf"):
        raise ValueError(f"{name} = {value!r} must be a positive, finite number")
    return float(value)


def check_not_negative(name: str, value: float) -> float:
    """Return `value` as a float if it is finite and not below 0."""
    if not isinstance(value, numbers.Real) or not 0 <= value < float("inf"):
        raise ValueError(f"{name} = {value!r} must be a finite number, at least 0")
    return float(value)


def check_choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    """Return `value` if it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} = {value!r} must be one of {', '.join(map(repr, choices))}")
    return value
