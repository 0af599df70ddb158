"""Tables that say which tests prove a row: every test that is named must exist."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

TESTS = Path(__file__).parent


@cache
def functions(file: str) -> frozenset[str]:
    """The tests that a file below ``tests/`` defines."""
    tree = ast.parse((TESTS / file).read_text())
    found = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return frozenset(node.name for node in found if node.name.startswith("test_"))


def missing(table: Mapping[str, Iterable[str]]) -> list[str]:
    """Every ``file.py::test`` of the table that does not exist, with its row; a row without a test is missing too."""
    faults = [f"{row}: no test" for row, tests in table.items() if not list(tests)]
    for row, tests in table.items():
        for test in tests:
            file, _, name = test.partition("::")
            if not (TESTS / file).is_file() or name not in functions(file):
                faults.append(f"{row}: {test}")
    return faults
