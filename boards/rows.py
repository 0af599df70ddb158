"""Rows on Django's cursor: each statement is built once per model and column set.

Reading and writing the same rows through querysets and ``save`` costs several times the CPU (``make bench``). Only what
commands and projections need: equality, ``__in`` and ``__gt``, one row written at a time.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any, TypeVar

from django.db import connection, models

M = TypeVar("M", bound=models.Model)
Convert = Callable[[Any], Any]


_own = threading.local()


def _run(sql: str, values: list[Any]) -> Any:
    """Runs a statement on this thread's cursor: opening one costs more than a small statement."""
    raw = connection.connection
    if raw is None or getattr(_own, "raw", None) is not raw:
        _own.cursor = connection.cursor()
        _own.raw = connection.connection
    _own.cursor.execute(sql, values)
    return _own.cursor


def _plain(value: Any) -> Any:
    return value


def _moment(value: datetime | None) -> str | datetime | None:
    """As Django's SQLite backend writes it, so that both forms compare as text."""
    if value is None or connection.vendor != "sqlite":
        return value
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ")


def _aware(value: datetime | None) -> datetime | None:
    return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


def _dumped(value: Any) -> str | None:
    return None if value is None else json.dumps(value)


def _loaded(value: str | None) -> Any:
    return None if value is None else json.loads(value)


def _pair(field: models.Field[Any, Any]) -> tuple[Convert, Convert]:
    """How a column is written and how it is read."""
    if isinstance(field, models.JSONField):
        return _dumped, _loaded
    return (_moment, _aware) if isinstance(field, models.DateTimeField) else (_plain, _plain)


def _fields(model: type[models.Model]) -> dict[str, models.Field[Any, Any]]:
    return {field.attname: field for field in model._meta.concrete_fields}


# --- writing ---------------------------------------------------------------------------------------------------------


@cache
def _statement(verb: str, model: type[models.Model], names: tuple[str, ...]) -> tuple[str, tuple[Convert, ...]]:
    known = _fields(model)
    fields = [known[name] for name in names]
    columns = [f'"{field.column}"' for field in fields]
    table, pk = f'"{model._meta.db_table}"', model._meta.pk.column
    if verb == "insert":
        sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))})"  # noqa: S608
    else:
        sql = f'UPDATE {table} SET {", ".join(f"{c} = %s" for c in columns)} WHERE "{pk}" = %s'  # noqa: S608
    return sql, tuple(_pair(field)[0] for field in fields)


def insert(model: type[models.Model], **columns: Any) -> None:
    """Adds one row; every column without a database default must be given."""
    sql, convert = _statement("insert", model, tuple(columns))
    _run(sql, [change(value) for change, value in zip(convert, columns.values(), strict=True)])


def update(model: type[models.Model], pk: str, **columns: Any) -> None:
    """Changes one row by primary key; a row that is not there is left alone."""
    sql, convert = _statement("update", model, tuple(columns))
    values = [change(value) for change, value in zip(convert, columns.values(), strict=True)]
    _run(sql, [*values, pk])


# --- reading ---------------------------------------------------------------------------------------------------------


@cache
def _columns(model: type[models.Model], names: tuple[str, ...]) -> tuple[str, tuple[tuple[int, Convert], ...]]:
    """The start of a statement that reads these columns, and which of the values need a conversion."""
    known = _fields(model)
    listed = ", ".join(f'"{known[name].column}"' for name in names)
    convert = [(place, _pair(known[name])[1]) for place, name in enumerate(names)]
    head = f'SELECT {listed} FROM "{model._meta.db_table}"'  # noqa: S608
    return head, tuple((place, change) for place, change in convert if change is not _plain)


@cache
def _names(model: type[models.Model]) -> tuple[str, ...]:
    return tuple(_fields(model))


@cache
def _test(model: type[models.Model], name: str) -> tuple[str, str, Convert]:
    """A filter's column, its comparison and how its value is written."""
    name, _, comparison = name.partition("__")
    field = _fields(model)[name]
    return f'"{field.column}"', {"": "=", "gt": ">", "in": "IN"}[comparison], _pair(field)[0]


def _where(model: type[models.Model], filters: dict[str, Any]) -> tuple[str, list[Any]]:
    tests, values = [], []
    for name, value in filters.items():
        column, comparison, change = _test(model, name)
        wanted = list(value) if comparison == "IN" else [value]
        marks = f"({', '.join(['%s'] * len(wanted))})" if comparison == "IN" else "%s"
        # SQLite takes an empty list, PostgreSQL does not.
        tests.append(f"{column} {comparison} {marks}" if wanted else "1 = 0")
        values += [change(item) for item in wanted]
    return f" WHERE {' AND '.join(tests)}" if tests else "", values


def _read(model: type[models.Model], names: tuple[str, ...], filters: dict[str, Any], tail: str) -> list[list[Any]]:
    head, convert = _columns(model, names)
    where, values = _where(model, filters)
    found = [list(row) for row in _run(head + where + tail, values).fetchall()]
    for row in found:
        for place, change in convert:
            row[place] = change(row[place])
    return found


def fetch(model: type[M], **filters: Any) -> list[M]:
    """The rows that fit, in the order of their keys."""
    names = _names(model)
    rows = _read(model, names, filters, f' ORDER BY "{model._meta.pk.column}"')
    return [model.from_db(connection.alias, names, row) for row in rows]


def last(model: type[models.Model], *names: str, by: str, **filters: Any) -> list[Any] | None:
    """These columns of the row that fits and has the greatest ``by``."""
    found = _read(model, names, filters, f" ORDER BY {_test(model, by)[0]} DESC LIMIT 1")
    return found[0] if found else None
