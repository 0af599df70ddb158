"""Writing projection rows: the statement is built once per model and column set and runs on Django's cursor.

Writing the same rows through model instances costs several times the CPU (``make bench``).
"""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any

from django.db import connection, models


def _plain(value: Any) -> Any:
    return value


def _moment(value: datetime | None) -> str | datetime | None:
    if value is None or connection.vendor != "sqlite":
        return value
    return value.astimezone(UTC).replace(tzinfo=None).isoformat(sep=" ", timespec="microseconds")


def _converter(field: models.Field[Any, Any]) -> Callable[[Any], Any]:
    if isinstance(field, models.JSONField):
        return lambda value: None if value is None else json.dumps(value)
    return _moment if isinstance(field, models.DateTimeField) else _plain


@cache
def _statement(
    verb: str, model: type[models.Model], names: tuple[str, ...]
) -> tuple[str, tuple[Callable[[Any], Any], ...]]:
    known = {field.attname: field for field in model._meta.concrete_fields}
    fields = [known[name] for name in names]
    columns = [f'"{field.column}"' for field in fields]
    table, pk = f'"{model._meta.db_table}"', model._meta.pk.column
    if verb == "insert":
        sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(['%s'] * len(columns))})"  # noqa: S608
    else:
        sql = f'UPDATE {table} SET {", ".join(f"{c} = %s" for c in columns)} WHERE "{pk}" = %s'  # noqa: S608
    return sql, tuple(_converter(field) for field in fields)


def insert(model: type[models.Model], **columns: Any) -> None:
    """Adds one row; every column without a database default must be given."""
    sql, convert = _statement("insert", model, tuple(columns))
    with connection.cursor() as cursor:
        cursor.execute(sql, [change(value) for change, value in zip(convert, columns.values(), strict=True)])


def update(model: type[models.Model], pk: str, **columns: Any) -> None:
    """Changes one row by primary key; a row that is not there is left alone."""
    sql, convert = _statement("update", model, tuple(columns))
    values = [change(value) for change, value in zip(convert, columns.values(), strict=True)]
    with connection.cursor() as cursor:
        cursor.execute(sql, [*values, pk])
