"""``python -m tests.crowd DIR``: makes a big home in a new folder."""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict, fields
from pathlib import Path

from tests.crowd import FULL, SMALL, Size, build


def main(arguments: list[str] | None = None) -> None:
    """``python -m tests.crowd DIR``"""
    parser = argparse.ArgumentParser(prog="python -m tests.crowd", description="Makes a big home in a new folder.")
    parser.add_argument("folder", type=lambda text: Path(text).resolve())
    parser.add_argument("--full", action="store_true", help="all of it instead of the small form")
    for field in fields(Size):
        parser.add_argument(f"--{field.name}", type=int)
    given = vars(parser.parse_args(arguments))
    base = asdict(FULL if given["full"] else SMALL)
    size = Size(**{name: given[name] if given[name] is not None else value for name, value in base.items()})
    start = time.monotonic()
    made = build(given["folder"], size)
    print(f"{made.home}: {size}, made in {time.monotonic() - start:.1f} s")


if __name__ == "__main__":
    main()
