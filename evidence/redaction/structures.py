"""Tier 2: secrets that a structure around them gives away: keys in PEM, URLs, headers, cookies, command lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from evidence.redaction.engine import Scope, any_in, pattern, substitute, swap
from evidence.redaction.values import (
    has_digit,
    is_code,
    is_placeholder,
    is_random,
    is_word,
)


@dataclass(frozen=True, slots=True)
class Structure:
    """A row: rule name, literals of which one must occur, RE2 whose group 2 is the value, whether that is a secret."""

    name: str
    hints: tuple[bytes, ...]
    rule: Any
    is_secret: Callable[[bytes], bool]


_NAMES_FOR_ONE = frozenset((b"password", b"passwd", b"pass", b"pwd", b"pw", b"token", b"secret"))


def _given(value: bytes) -> bool:
    """Anything but a placeholder, where the structure itself proves that a secret stands there."""
    return not is_placeholder(value) and value.lower() not in _NAMES_FOR_ONE


def _scheme_value(value: bytes) -> bool:
    return not is_placeholder(value) and not is_code(value) and not (is_word(value) and len(value) < 12)


def _bare(value: bytes) -> bool:
    return _scheme_value(value) and len(value) >= 12 and has_digit(value)


def _long(value: bytes) -> bool:
    return not is_placeholder(value) and len(value) >= 16 and has_digit(value)


def _spoken(value: bytes) -> bool:
    return not is_placeholder(value) and len(value) >= 6 and has_digit(value) and not value.isdigit()


_STRONG_QUERY = (
    "access_token|id_token|refresh_token|auth_token|authtoken|token|api_key|apikey|api-key|access_key|accesskey"
    "|client_secret|secret|password|passwd|pwd|subscription-key|x-amz-signature|x-amz-security-token|x-amz-credential"
    "|x-goog-signature|x-goog-credential|signature|sig|jwt|private_token|job_token|session_token|login_token|otp"
    "|magic|one_time_token|invite_token|csrf_token|csrfmiddlewaretoken|assertion|code_verifier|se_token"
)
_WEAK_QUERY = "code|key|auth|session|sessionid|sid|ticket|hmac|hash|login|invite|nonce|t|k"

STRUCTURES: tuple[Structure, ...] = (
    Structure(
        "url",
        (b"://",),
        # The password may hold anything that a careless person types, up to the last @ before the path.
        pattern(r"(://[^\s/@:\"'<>\\]*:)([^\s/\"'<>?]+)@"),
        _given,
    ),
    Structure("url-user", (b"://",), pattern(r"(://)([^\s/@:\"'<>\\?#]{20,})@"), _long),
    Structure("query", (b"=",), pattern(rf"([?&#](?:amp;)?(?:{_STRONG_QUERY})=)([^&\s\"'<>#`]+)", case=False), _given),
    Structure("query", (b"=",), pattern(rf"([?&](?:amp;)?(?:{_WEAK_QUERY})=)([^&\s\"'<>#`]+)", case=False), _long),
    Structure(
        "link",
        (b"://",),
        pattern(
            r"(://[^\s\"'<>?#]*/(?:login|signin|sign-in|magic|magic-link|reset|password-reset|reset-password|invite"
            r"|confirm|verify|activate|one-time|otl)/(?:[^\s\"'<>?#/]+/)*)([A-Za-z0-9_.~:-]{16,})",
            case=False,
        ),
        _long,
    ),
    Structure(
        "webhook",
        (b"hook", b"Hook"),
        pattern(
            r"(hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/|discord(?:app)?\.com/api(?:/v[0-9]+)?/webhooks/"
            r"|webhook\.office\.com/webhookb2/|hooks\.zapier\.com/hooks/catch/|hook\.[a-z0-9.]+\.make\.com/"
            r"|/hooks/(?:catch/)?)([^\s\"'<>`)\]]{12,})",
            case=False,
        ),
        _given,
    ),
    Structure(
        "authorization",
        (b"uthorization", b"UTHORIZATION"),
        pattern(
            r"\b((?:proxy[-_])?authorization[\"'\\\]]*\s*[:=,]\s*[frbu]?[\"'`\\]*"
            r"(?:bearer|basic|token|digest|apikey|api-key|negotiate|ntlm|key|splunk|dpop|hmac)\s+(?:token=)?[\"'\\]*)"
            r"([^\s\"'`<>,;\\]+)",
            case=False,
        ),
        _scheme_value,
    ),
    Structure(
        "authorization",
        (b"uthorization", b"UTHORIZATION"),
        pattern(
            r"\b((?:proxy[-_])?authorization[\"'\\\]]*\s*[:=]\s*[frbu]?[\"'`\\]*)([^\s\"'`<>,;\\]{12,})", case=False
        ),
        _bare,
    ),
    Structure(
        "bearer",
        (b"earer", b"EARER"),
        pattern(r"\b(bearer\s+)([A-Za-z0-9_.~+/=-]{12,})", case=False),
        _bare,
    ),
    Structure(
        "curl-user",
        (b"curl",),
        pattern(
            r"(\bcurl\b[^\n]*?\s(?:-u|-U|--user|--proxy-user)[ =]?[\"']?[^\s:\"']+:)([^\s\"']+)",
        ),
        _given,
    ),
    Structure(
        "netrc",
        (b"login", b"password"),
        pattern(r"(\blogin\s+\S+\s+password\s+)(\S+)"),
        _spoken,
    ),
    Structure(
        "flag",
        (b"--",),
        pattern(
            r"(\s--(?:[a-z0-9]+-)*(?:password|passwd|passphrase|token|secret|api-key|apikey|access-key|secret-key"
            r"|private-key|auth-key|authkey)[ \t]+[\"']?)([^\s\"'`;|&<>-][^\s\"'`;|&<>]*)",
            case=False,
        ),
        _spoken,
    ),
    Structure("flag", (b"sshpass",), pattern(r"(\bsshpass\s+-p\s*[\"']?)([^\s\"']+)"), _given),
    Structure(
        "flag",
        (b"mysql", b"mariadb"),
        pattern(r"(\b(?:mysql|mariadb)[a-z]*\b[^\n|;]*?\s-p)([^\s\"'-][^\s]*)"),
        _given,
    ),
    Structure(
        "spoken",
        (b" is ", b" was ", b"IS "),
        pattern(
            r"\b((?:password|passphrase|passcode|passwd|pwd|secret|token|api key|access key|login code|pin)"
            r"[ \t]+(?:is|was)(?:[ \t]+now)?[ \t]*:?[ \t]+[\"'`]?)([^\s\"'`]{6,})",
            case=False,
        ),
        _spoken,
    ),
)  # fmt: skip


def hide_structures(text: bytes, scope: Scope) -> bytes:
    """Replace private keys, cookies, and the secret of each structure of the table."""
    text = _hide_cookies(_hide_keys(text, scope), scope)
    for row in STRUCTURES:
        if any_in(text, row.hints):
            text = _hide_row(row, text, scope)
    return text


def _hide_row(row: Structure, text: bytes, scope: Scope) -> bytes:
    def replace(match: Any) -> bytes | None:
        value = match.group(2)
        if not row.is_secret(value):
            return None
        return swap(match, 2, scope.hide("SECRET", row.name, value))

    return substitute(row.rule, text, replace)


_KEY_BEGIN = pattern(r"-{4,5} ?BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_KEY_END = b"-END"
_KEY_LONGEST = 65_536
_KEY_LINES = pattern(
    r"^(?:(?:[\s\"'`+>|#*,]|\\+[rn])*(?:(?:Proc-Type|DEK-Info|Comment|Version|Hash)[:][^\n\\]*|[A-Za-z0-9+/]{16,}={0,2}))+"
    r"(?:(?:[\s\"'`+>|#*,]|\\+[rn])*[A-Za-z0-9+/=]{1,80}(?:\\n|\r?\n|[\"'`]|$))?"
)
_KEY_TAIL = pattern(r"^-END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}")
_PUTTY = pattern(r"(Private-Lines: [0-9]+\s+)((?:[A-Za-z0-9+/=]+\s*)+)")


def _hide_keys(text: bytes, scope: Scope) -> bytes:
    if b"PRIVATE KEY" in text:
        text = _hide_pem(text, scope)
    if b"Private-Lines:" in text:
        text = substitute(
            _PUTTY,
            text,
            lambda match: swap(match, 2, scope.hide("KEY", "putty", match.group(2)) + b"\n"),
        )
    return text


def _hide_pem(text: bytes, scope: Scope) -> bytes:
    """Replace each private key block; where its end is missing (a truncated log), what looks like its lines."""
    pieces: list[bytes] = []
    done = 0
    starts = [match.span() for match in _KEY_BEGIN.finditer(text)]
    for index, (start, body) in enumerate(starts):
        if start < done:
            continue
        limit = starts[index + 1][0] if index + 1 < len(starts) else len(text)
        end = _key_end(text, body, min(limit, body + _KEY_LONGEST))
        if end is not None:
            pieces += (text[done:start], scope.hide("KEY", "pem", text[start:end]))
            done = end
    return b"".join((*pieces, text[done:])) if pieces else text


def _key_end(text: bytes, body: int, limit: int) -> int | None:
    found = text.find(_KEY_END, body, limit)
    if found >= 0:
        tail = _KEY_TAIL.match(text[found : found + 80])
        start = text[body:found].rstrip(b"-")
        if tail and sum(char in _BASE64 for char in start) * 2 > len(start) >= 16:
            return found + int(tail.end())
    lines = _KEY_LINES.match(text[body:limit])
    return body + int(lines.end()) if lines else None


_BASE64 = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")

_COOKIES = pattern(r"\b((?:set-)?cookie[\"'\\\]]*\s*[:=]\s*[\"'`\\]*)([^\n\"'`]+)", case=False)
_COOKIE_PAIR = pattern(r"([A-Za-z0-9_.!#$%&*+^|~-]+=)([^;\s,\\]+)")
_COOKIE_NAMES = pattern(
    r"sess|sid|auth|token|csrf|xsrf|jwt|key|secret|login|remember|user|uid|identity|account|ticket|sso",
    case=False,
)
_COOKIE_PUBLIC = frozenset(b"path domain expires max-age samesite version priority theme lang locale".split())


def _hide_cookies(text: bytes, scope: Scope) -> bytes:
    if not any_in(text, (b"ookie", b"OOKIE")):
        return text

    def pair(match: Any) -> bytes | None:
        name, value = match.group(1)[:-1].lower(), match.group(2)
        if name in _COOKIE_PUBLIC or is_placeholder(value) or is_code(value):
            return None
        if not (_COOKIE_NAMES.search(name) and len(value) >= 6) and not is_random(value):
            return None
        return swap(match, 2, scope.hide("SECRET", "cookie", value))

    def line(match: Any) -> bytes | None:
        pairs = match.group(2)
        cleaned = substitute(_COOKIE_PAIR, pairs, pair)
        return None if cleaned is pairs else swap(match, 2, cleaned)

    return substitute(_COOKIES, text, line)
