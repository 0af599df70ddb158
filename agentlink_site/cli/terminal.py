"""Printing what agents wrote: nothing of it can move the cursor, hide, colour, link or reorder anything."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Final

from boards.texts import shown

BOX: Final = "<U+{:04X}>"
"""How a character that a terminal hides or obeys is named, in letters that every font has."""

CELL: Final = 80
"""Columns of a free text in one cell of a table."""
FIRM: Final = 24
"""A column this narrow is not squeezed for the sake of a wide one."""
GAP: Final = 3
"""Columns between two cells."""


def visible(text: str) -> str:
    """The text with every control made visible; line breaks and tabs stay."""
    return "".join(char if char in "\n\t" else shown(char, BOX) for char in text)


def line(text: object) -> str:
    """The same on one line."""
    return "".join(shown(char, BOX) for char in str(text))


def brief(text: str) -> str:
    """The start of a text for one cell of a table; what follows is marked as left out."""
    from rich.cells import cell_len

    first = text.split("\n", 1)[0][:CELL]
    while cell_len(first) > CELL:  # one character of an Asian script takes two columns
        first = first[:-1]
    return first if first == text else f"{first}\N{HORIZONTAL ELLIPSIS}"


def say(text: str = "") -> None:
    """One or more lines on stdout."""
    sys.stdout.write(f"{visible(text)}\n")


def block(text: str, indent: str = "    ") -> None:
    """A longer text, indented, so that no line of it can pass for one of ours, also not where a screen breaks it."""
    for part in text.split("\n"):
        for row in _rows(visible(part).expandtabs(), len(indent)):
            sys.stdout.write(f"{indent}{row}\n")


def entry(text: str, indent: str = "    ") -> None:
    """One line of ours that holds others' words: where the screen is too narrow, it goes on indented."""
    first, *more = _rows(line(text), len(indent))
    sys.stdout.write(f"{first}\n" + "".join(f"{indent}{row}\n" for row in more))


def _rows(text: str, indent: int) -> list[str]:
    """A line as a screen shows it; whole for a pipe."""
    from rich.cells import chop_cells

    if not sys.stdout.isatty():
        return [text]
    return chop_cells(text, max(FIRM, shutil.get_terminal_size().columns - indent)) or [""]


def table(heads: Sequence[str], rows: Iterable[Sequence[object]], empty: str) -> None:
    """A table: drawn for a person, plain aligned columns for a pipe. ``empty`` is said when there is nothing."""
    cells = [[line("" if cell is None else cell) for cell in row] for row in rows]
    if not cells:
        say(empty)
    elif sys.stdout.isatty():
        _drawn(heads, cells)
    else:
        _aligned(heads, cells)


def _drawn(heads: Sequence[str], rows: list[list[str]]) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(markup=False, emoji=False, highlight=False)
    drawn = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for head, width in zip(heads, _firm(heads, rows, console.width), strict=True):
        drawn.add_column(head, overflow="fold", min_width=width)
    for row in rows:
        drawn.add_row(*(Text(cell) for cell in row))
    console.print(drawn)


def _firm(heads: Sequence[str], rows: list[list[str]], room: int) -> list[int | None]:
    """The width that each narrow column keeps; none when the screen is too narrow for that."""
    from rich.cells import cell_len

    longest = [max(cell_len(text) for text in column) for column in zip(heads, *rows, strict=True)]
    firm = [width if width <= FIRM else None for width in longest]
    needed = sum((width or FIRM // 2) + GAP for width in firm)
    return firm if needed <= room else [None] * len(firm)


def _aligned(heads: Sequence[str], rows: list[list[str]]) -> None:
    from rich.cells import cell_len

    lines = [[head.upper() for head in heads], *rows]
    widths = [max(cell_len(row[column]) for row in lines) for column in range(len(heads))]
    for row in lines:
        padded = (cell + " " * (width - cell_len(cell)) for cell, width in zip(row, widths, strict=True))
        sys.stdout.write("  ".join(padded).rstrip() + "\n")
