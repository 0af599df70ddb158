"""The security headers of every response: pages, errors, static files, and what the HTTP channel itself answers."""

from __future__ import annotations

from http import HTTPStatus

Headers = list[tuple[bytes, bytes]]

CSP = (
    b"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    b"connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; object-src 'none'"
)
FORCED: Headers = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
]
# A view may answer with a stricter policy (artifacts are sandboxed) or with caching (static files, regions).
DEFAULT: Headers = [(b"content-security-policy", CSP), (b"cache-control", b"no-store")]


def secured(headers: Headers) -> Headers:
    """An application's headers with ours: the forced ones replace, the defaults fill in."""
    forced = {name for name, _ in FORCED}
    kept = [(name, value) for name, value in headers if name.lower() not in forced]
    present = {name.lower() for name, _ in kept}
    return kept + FORCED + [(name, value) for name, value in DEFAULT if name not in present]


def whole_response(status: int, sentence: str) -> bytes:
    """A complete HTTP/1.1 response that ends the connection, for what never reaches the application."""
    content = f"{sentence}\n".encode()
    own = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(content)).encode())]
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode(), b"connection: close"]
    lines += [name + b": " + value for name, value in secured(own)]
    return b"\r\n".join([*lines, b"", content])
