"""What a request may say: strict JSON, known query parameters, and one idempotency key."""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest
from ninja.parser import Parser

from boards.edges import actor_of
from boards.schemas import Actor, Shape

DEPTH: Final = 32
ITEMS: Final = 1000
"""In one list, and keys in one object."""
KEY_HEADER: Final = "Idempotency-Key"
KEY_SHAPE: Final = r"^[!-~]{1,200}$"
"""What the header may hold, as a pattern."""


class Malformed(Exception):
    """A request that cannot be understood; the sentence never repeats a value, because values can be secrets."""

    def __init__(self, sentence: str, *, code: str = "malformed", status: int = 400) -> None:
        super().__init__(sentence)
        self.sentence, self.code, self.status = sentence, code, status


TOO_LARGE: Final = Malformed("A body may have at most 1 MiB.", code="too_large", status=413)


class JsonParser(Parser):
    """JSON as RFC 8259 means it: UTF-8, one object, no key twice, no NaN, no endless depth."""

    def parse_body(self, request: HttpRequest) -> dict[str, Any]:
        """The body's object. Raises :class:`Malformed`."""
        kind = (request.content_type or "").lower()
        if kind != "application/json":
            raise Malformed("This route takes only Content-Type: application/json.", code="not_json", status=415)
        try:
            body = request.body
        except RequestDataTooBig:
            raise TOO_LARGE from None
        return parse(body)


def parse(body: bytes) -> dict[str, Any]:
    """The object in a body. Raises :class:`Malformed`."""
    try:
        value = json.loads(
            body.decode("utf-8"), object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite
        )
    except UnicodeDecodeError:
        raise Malformed("The body is not UTF-8.") from None
    except RecursionError:
        raise Malformed(f"The JSON is nested deeper than {DEPTH} levels.") from None
    except json.JSONDecodeError as error:
        raise Malformed(f"The body is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from None
    except ValueError:  # the interpreter's own limit on the digits of an integer
        raise Malformed("A number in the body is too long.") from None
    if not isinstance(value, dict):
        raise Malformed("The body must be one JSON object.")
    _check_depth(value)
    _check_text(value)
    return value


def _check_text(value: dict[str, Any]) -> None:
    """Half of a surrogate pair is no character; it would be stored as something else than was sent."""
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise Malformed("A text in the body holds half of a surrogate pair, which is no character.") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Malformed("A JSON object in the body has the same key twice; write each key once.")
    return found


def _no_constant(_: str) -> Any:
    raise Malformed("NaN and Infinity are no JSON numbers.")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise Malformed("A number in the body is too large.")
    return number


def _check_depth(value: Any) -> None:
    level = [value]
    for _ in range(DEPTH):
        level = [child for item in level for child in _children(item)]
        if not level:
            return
    raise Malformed(f"The JSON is nested deeper than {DEPTH} levels.")


def _children(item: Any) -> list[Any]:
    if isinstance(item, dict | list) and len(item) > ITEMS:
        raise Malformed(f"A list or object in the body has {len(item):,} items; the limit is {ITEMS:,}.")
    inner = item.values() if isinstance(item, dict) else item if isinstance(item, list) else ()
    return [child for child in inner if isinstance(child, dict | list)]


def reader(request: HttpRequest, query: type[Shape] | None = None) -> Actor:
    """Who asks; refuses query parameters that the route does not have."""
    fields = query.model_fields.items() if query else ()
    only_known(request, frozenset(field.alias or name for name, field in fields))
    return actor_of(request)


def only_known(request: HttpRequest, names: frozenset[str]) -> None:
    """Refuses query parameters that this route does not have, so that a typo is never dropped, and repeated ones."""
    for name in request.GET:
        if name not in names:
            right = f"it takes {', '.join(sorted(names))}" if names else "it takes none"
            raise Malformed(f"This route has no such query parameter; {right}.", code="unknown_parameter")
        if len(request.GET.getlist(name)) > 1:
            raise Malformed(f"The query parameter {name!r} is given more than once.", code="unknown_parameter")


def key_of(request: HttpRequest, in_body: str | None) -> str | None:
    """The idempotency key from the body or the header; both must agree. Raises :class:`Malformed`."""
    in_header = request.headers.get(KEY_HEADER)
    if in_header is not None and re.fullmatch(KEY_SHAPE[1:-1], in_header) is None:
        sentence = f"The {KEY_HEADER} header holds 1 to 200 visible ASCII characters, without spaces."
        raise Malformed(sentence, code="bad_key")
    if in_header is not None and in_body is not None and in_header != in_body:
        raise Malformed(f"The body's key and the {KEY_HEADER} header differ; send one.", code="key_mismatch")
    return in_header if in_body is None else in_body
