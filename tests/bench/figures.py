"""What was measured, against its floor and its limit, and how it is told."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

HEADINGS = ("what", "AgentLink", "floor", "ratio", "limit", "")


@dataclass(frozen=True, slots=True)
class Figure:
    """One line of the table. ``ours`` and ``floor`` in ``unit``; limits are for the ratio or for ``ours`` itself."""

    name: str
    unit: str
    ours: float
    floor: float
    most_ratio: float | None = None
    most: float | None = None

    @property
    def ratio(self) -> float:
        return self.ours / self.floor

    @property
    def kept(self) -> bool:
        """Whether every limit holds."""
        over_ratio = self.most_ratio is not None and self.ratio > self.most_ratio
        return not over_ratio and not (self.most is not None and self.ours > self.most)

    def cells(self) -> tuple[str, ...]:
        limits = [f"{self.most_ratio:g} times"] if self.most_ratio is not None else []
        limits += [f"{self.most:g} {self.unit}"] if self.most is not None else []
        verdict = ("kept" if self.kept else "FAILED") if limits else ""
        ours, floor = (f"{number(value)} {self.unit}" for value in (self.ours, self.floor))
        return (self.name, ours, floor, f"{self.ratio:.2f}", ", ".join(limits) or "-", verdict)


def number(value: float) -> str:
    """Three digits that count."""
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def percentile(values: Sequence[float], share: float) -> float:
    """The smallest value that at least this share of all values does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]


def spread(values: Sequence[float], unit: str) -> str:
    """The distribution in one line."""
    marks = (("p50", 0.5), ("p95", 0.95), ("max", 1.0))
    told = ", ".join(f"{name} {number(percentile(values, share))}" for name, share in marks)
    return f"{told} {unit} ({len(values)} samples)"


def table(figures: Iterable[Figure]) -> str:
    """A Markdown table that is aligned, so that it reads well in a terminal too."""
    rows = [HEADINGS, *(figure.cells() for figure in figures)]
    widths = [max(3, *(len(row[place]) for row in rows)) for place in range(len(HEADINGS))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in rows
    ]
    lines.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(lines)
