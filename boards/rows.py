"""Rows by statements that are built once per model and column set.

Reading and writing the same rows through querysets and ``save`` costs several times the CPU (``make bench``). Only what
commands and projections need: equality, ``__in`` and ``__gt``, one row written at a time.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import Any, TypeAlias, TypeVar

from django.db import connections, models
from django.db.backends.base.base import BaseDatabaseWrapper

M = TypeVar("M", bound=models.Model)
Convert = Callable[[Any], Any]
_own = threading.local()


def _database() -> BaseDatabaseWrapper:
    """This thread's database; looking it up each time costs as much as a small statement."""
    found: BaseDatabaseWrapper | None = getattr(_own, "database", None)
    if found is None:
        found = _own.database = connections["default"]
    return found


def _run(sql: str, values: list[Any]) -> list[Any]:
    """Runs a statement (its values marked ``?``) and returns its rows.

    SQLite is asked without Django's cursor in between, which costs more than the statement; what that cursor also does
    (a broken transaction refuses, errors are Django's, whoever listens hears) holds here too.
    """
    database = _database()
    raw = database.connection
    if raw is None or database.vendor != "sqlite" or database.execute_wrappers or database.queries_logged:
        return _run_by_cursor(database, sql, values)
    database.validate_no_broken_transaction()
    with database.wrap_database_errors:
        rows: list[Any] = raw.execute(sql, values).fetchall()
        return rows


def _run_by_cursor(database: BaseDatabaseWrapper, sql: str, values: list[Any]) -> list[Any]:
    with database.cursor() as cursor:
        cursor.execute(sql.replace("?", "%s"), values)
        return cursor.fetchall() if cursor.description else []


# --- columns ---------------------------------------------------------------------------------------------------------

Fields: TypeAlias = "dict[str, models.Field[Any, Any]]"
Changes = tuple[tuple[int, Convert], ...]
"""Which of a row's values need a conversion, by place."""


def _moment(value: datetime) -> str:
    """As Django's SQLite backend writes it: both forms must compare as text."""
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ")


def _aware(value: datetime | str) -> datetime:
    return (datetime.fromisoformat(value) if isinstance(value, str) else value).replace(tzinfo=UTC)


def _converters(field: models.Field[Any, Any]) -> tuple[Convert, Convert] | None:
    """How a value is written and how it is read; PostgreSQL takes and gives times as they are."""
    if isinstance(field, models.JSONField):
        return json.dumps, json.loads
    if isinstance(field, models.BooleanField):
        return bool, bool
    text_times = _database().vendor == "sqlite" and isinstance(field, models.DateTimeField)
    return (_moment, _aware) if text_times else None


def _changes(fields: list[models.Field[Any, Any]], direction: int) -> Changes:
    pairs = enumerate(map(_converters, fields))
    return tuple((place, pair[direction]) for place, pair in pairs if pair)


def _change(values: list[Any], changes: Changes) -> list[Any]:
    """The list itself, converted; NULL stays."""
    for place, change in changes:
        if values[place] is not None:
            values[place] = change(values[place])
    return values


@cache
def _fields(model: type[models.Model]) -> Fields:
    return {field.attname: field for field in model._meta.concrete_fields}


# --- writing ---------------------------------------------------------------------------------------------------------


@cache
def _statement(verb: str, model: type[models.Model], names: tuple[str, ...]) -> tuple[str, Changes]:
    fields = [_fields(model)[name] for name in names]
    columns = [f'"{field.column}"' for field in fields]
    table, pk = f'"{model._meta.db_table}"', model._meta.pk.column
    if verb == "insert":
        sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"  # noqa: S608
    else:
        sql = f'UPDATE {table} SET {", ".join(f"{c} = ?" for c in columns)} WHERE "{pk}" = ?'  # noqa: S608
    return sql, _changes(fields, 0)


def insert(model: type[models.Model], **columns: Any) -> None:
    """Adds one row; every column without a database default must be given."""
    sql, changes = _statement("insert", model, tuple(columns))
    _run(sql, _change(list(columns.values()), changes))


def update(model: type[models.Model], pk: str, **columns: Any) -> None:
    """Changes one row by primary key; a row that is not there is left alone."""
    sql, changes = _statement("update", model, tuple(columns))
    _run(sql, _change([*columns.values(), pk], changes))


# --- reading ---------------------------------------------------------------------------------------------------------

Sizes = tuple[tuple[str, int], ...]
"""Each filter and the length of its list; -1 where it is one value."""


@lru_cache(maxsize=512)  # lists have many lengths
def _query(
    model: type[models.Model], names: tuple[str, ...], filters: Sizes, tail: str
) -> tuple[str, Changes, Changes]:
    """The statement, and what of its values and of its columns needs a conversion."""
    fields = _fields(model)
    listed = ", ".join(f'"{fields[name].column}"' for name in names)
    tests = [_test(fields, name, size) for name, size in filters]
    where = f" WHERE {' AND '.join(tests)}" if tests else ""
    given = [fields[name.partition("__")[0]] for name, size in filters for _ in range(abs(size))]
    sql = f'SELECT {listed} FROM "{model._meta.db_table}"{where}{tail}'  # noqa: S608
    return sql, _changes(given, 0), _changes([fields[name] for name in names], 1)


def _test(fields: Fields, name: str, size: int) -> str:
    name, _, comparison = name.partition("__")
    if comparison == "in":
        return f'"{fields[name].column}" IN ({", ".join("?" * size)})' if size else "1 = 0"
    return f'"{fields[name].column}" {">" if comparison == "gt" else "="} ?'


def _sizes(filters: dict[str, Any]) -> tuple[Sizes, list[Any]]:
    """The form of the filters, and their values in order."""
    sizes: list[tuple[str, int]] = []
    values: list[Any] = []
    for name, value in filters.items():
        several = isinstance(value, list)
        sizes.append((name, len(value) if several else -1))
        values += value if several else [value]
    return tuple(sizes), values


def _read(model: type[models.Model], names: tuple[str, ...], filters: dict[str, Any], tail: str) -> list[list[Any]]:
    sizes, values = _sizes(filters)
    sql, write, read = _query(model, names, sizes, tail)
    return [_change(list(row), read) for row in _run(sql, _change(values, write))]


@cache
def _whole(model: type[models.Model]) -> tuple[tuple[str, ...], str]:
    """All columns, and the order of the keys."""
    return tuple(_fields(model)), f' ORDER BY "{model._meta.pk.column}"'


def fetch(model: type[M], **filters: Any) -> list[M]:
    """The rows that fit, in the order of their keys."""
    names, order = _whole(model)
    return [model.from_db("default", names, row) for row in _read(model, names, filters, order)]


def count(model: type[models.Model], **filters: Any) -> int:
    """How many rows fit."""
    sql, write, values = _counting(model, filters)
    return int(_run(sql, _change(values, write))[0][0])


def _counting(model: type[models.Model], filters: dict[str, Any]) -> tuple[str, Changes, list[Any]]:
    sizes, values = _sizes(filters)
    sql, write, _ = _query(model, (model._meta.pk.attname,), sizes, "")
    return f"SELECT COUNT(*) FROM ({sql})", write, values  # noqa: S608


def last(model: type[models.Model], *names: str, by: str, **filters: Any) -> list[Any] | None:
    """These columns of the row that fits and has the greatest ``by``."""
    found = _read(model, names, filters, f' ORDER BY "{_fields(model)[by].column}" DESC LIMIT 1')
    return found[0] if found else None
