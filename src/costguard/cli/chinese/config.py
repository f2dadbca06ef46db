"""Mistakes in a configuration, and what to write instead."""

from costguard.rules.reasons import Pair

PAIRS: tuple[Pair, ...] = (
    (
        "not a duration: {value}; write a number and a unit, like 45m, 8h or 7d",
        "{value} 不是时长，要写数字加单位，如 45m、8h、7d",
    ),
)
