"""Tier 6: private machines and people: known host names, local domains, addresses, hardware ids and mail."""

from __future__ import annotations

import functools
import re
import socket
from typing import Any

from evidence.redaction.engine import Scope, pattern, spans_of, substitute, substitute_group, swap
from evidence.redaction.values import has_digit

LOCAL_DOMAINS = (
    "local", "lan", "internal", "intranet", "corp", "home.arpa", "localdomain", "intra", "ts.net", "intern", "localnet",
    "fritz.box", "vpn", "consul", "priv", "cluster.local",
)  # fmt: skip
"""Domains that exist in one network only."""

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_LOCAL = pattern(
    rf"\b((?:{_NAME}\.)+(?:{'|'.join(LOCAL_DOMAINS).replace('.', '[.]')}))($|[^A-Za-z0-9_(=-])",
    case=False,
)
_IPV4 = pattern(r"(^|[^0-9A-Za-z_.-])([0-9]{1,3}(?:\.[0-9]{1,3}){3})($|[^0-9A-Za-z_.-]|[.-](?:$|[^0-9A-Za-z]))")
_NEAR_HOST = pattern(
    r"(?:\b(?:host|hosts|ip|addr|address|server|from|to|ping|ssh|via|at|client|peer|remote|listening|connect|connected)"
    r"[\"']?[ \t]*[=:]?[ \t]*[\"'(]?|://|@)$",
    case=False,
)
_IPV6 = pattern(r"(^|[^0-9A-Za-z:._])([0-9A-Fa-f]{0,4}(?::[0-9A-Fa-f]{0,4}){2,8}(?:[0-9]{1,3}(?:\.[0-9]{1,3}){3})?)")
_MAC = pattern(
    r"(^|[^0-9A-Za-z:-])((?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}|(?:[0-9A-Fa-f]{2}-){5}[0-9A-Fa-f]{2})($|[^0-9A-Za-z:-])"
)
_ANY_LETTER = r"A-Za-z\x{80}-\x{10ffff}"
_MAIL = pattern(
    rf"(^|[^{_ANY_LETTER}0-9._%+/-])([{_ANY_LETTER}0-9._%+'-]+(?:@|%40)(?:[{_ANY_LETTER}0-9-]+\.)+[{_ANY_LETTER}]{{2,}})"
    r"($|[^A-Za-z0-9_@(:-]|:(?:$|\s))"
)
_MAIL_PUBLIC = re.compile(rb"(?i)(?:git|no-?reply|do-?not-?reply)@|.*@users\.noreply\.github\.com$")


def hide_hosts(text: bytes, scope: Scope) -> bytes:
    """Replace names, addresses and mail of private machines and people; loopback and versions stay."""

    def mail(match: Any) -> bytes | None:
        public = _MAIL_PUBLIC.match(match.group(2))
        return None if public else swap(match, 2, scope.hide("EMAIL", "mail", match.group(2)))

    def local(match: Any) -> bytes | None:
        name = match.group(1)
        if (
            name != name.lower()
            or name.startswith((b"self.", b"this."))
            or (name.count(b".") == 1 and not _is_host(name, match, text))
        ):
            return None
        return swap(match, 1, scope.hide("HOST", "local", name))

    if b"@" in text or b"%40" in text:
        text = substitute(_MAIL, text, scope, mail)
    for rule in _known(scope.context.known_hosts):
        text = substitute(
            rule,
            text,
            scope,
            lambda match: swap(match, 2, scope.hide("HOST", "known", match.group(2).lower())),
        )
    return _hide_addresses(substitute(_LOCAL, text, scope, local) if b"." in text else text, scope)


def _is_host(name: bytes, match: Any, text: bytes) -> bool:
    """Whether two labels are a machine (`nas.local`) and not an attribute of something in code (`options.local`)."""
    alone = len(text.strip()) == len(name)
    before, after = text[max(0, match.start(1) - 24) : match.start(1)], text[match.end(1) : match.end(1) + 2]
    addressed = after[:1] == b"/" or (after[:1] == b":" and after[1:].isdigit())
    return (
        alone
        or addressed
        or name.endswith((b".intern", b".lan", b".fritz.box"))
        or b"-" in name
        or has_digit(name)
        or _NEAR_HOST.search(before) is not None
    )


@functools.lru_cache(maxsize=64)
def _known(hosts: tuple[str, ...]) -> tuple[Any, ...]:
    names = sorted(
        {host for host in hosts if len(host) > 2 and host.lower() != "localhost"},
        key=len,
        reverse=True,
    )
    if not names:
        return ()
    either = "|".join(re.escape(name).replace("\\-", "-") for name in names)
    return (pattern(rf"(^|[^A-Za-z0-9_.-])({either})($|[^A-Za-z0-9_-])", case=False),)


def _hide_addresses(text: bytes, scope: Scope) -> bytes:
    def four(written: bytes, match: Any) -> bytes | None:
        start, after = spans_of(match, 3)[2:4]
        before = text[max(0, start[0] - 25) : start[0]]
        return _address(written, scope, text[after[0] : after[0] + 1] == b":" or _NEAR_HOST.search(before) is not None)

    def six(written: bytes, _: Any) -> bytes | None:
        return _address(written, scope, written.count(b":") >= 3)

    if text.count(b".") >= 3:
        text = substitute_group(_IPV4, text, scope, 2, four)
    if max(text.count(b":"), text.count(b"-")) >= 5:
        text = substitute_group(_MAC, text, scope, 2, lambda written, _: scope.hide("MAC", "mac", written.lower()))
    return substitute_group(_IPV6, text, scope, 2, six) if text.count(b":") >= 2 else text


def _address(written: bytes, scope: Scope, certain: bool) -> bytes | None:
    """A private address is hidden wherever it stands, a public one only where it cannot be a version or a time."""
    kind = _kind_of_four(written) if b":" not in written else _kind_of_six(written)
    if kind == "private" or (kind == "public" and certain) or kind == "large":
        return scope.hide("IP", "v6" if b":" in written else "v4", written.lower())
    return None


def _kind_of_four(written: bytes) -> str:
    """`large` numbers cannot be a version."""
    one, two, *rest = numbers = [int(part) for part in written.split(b".")]
    if (
        max(numbers) > 255
        or one in (0, 127)
        or one >= 224
        or numbers[0] == 255
        or any(part[:1] == b"0" != part for part in written.split(b"."))
    ):
        return "none"
    if (
        one == 10
        or (one, two) in ((192, 168), (169, 254))
        or (one == 172 and 16 <= two < 32)
        or (one == 100 and 64 <= two < 128)
    ):
        return "private"
    return "large" if sum(number > 31 for number in (one, two, *rest)) >= 3 else "public"


def _kind_of_six(written: bytes) -> str:
    try:
        packed = socket.inet_pton(socket.AF_INET6, written.decode())
    except OSError:
        return "none"
    if packed[0] == 0xFF or packed[:15] == bytes(15):  # multicast, unspecified, loopback
        return "none"
    private = packed[0] in (0xFC, 0xFD) or packed[:2] == b"\xfe\x80" or packed[:4] == b"\x20\x01\x0d\xb8"
    return "private" if private else "public"
