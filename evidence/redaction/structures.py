"""Tier 2: secrets that a structure around them gives away: URLs, headers, calls, SQL, tables, keys in JSON and XML."""

from __future__ import annotations

from evidence.redaction.engine import Scope, hints, pattern
from evidence.redaction.judges import (
    is_bare,
    is_cell,
    is_flag,
    is_given,
    is_hook,
    is_link,
    is_long,
    is_probably_chosen,
    is_scheme_value,
)
from evidence.redaction.keys import (
    words,
)
from evidence.redaction.rows import Structure, hide_rows

_STRONG_QUERY = (
    "token|secret|password|passwd|passphrase|pwd|pass|pw|signature|sig|jwt|otp|api[_-]?key|access[_-]?key(?:id)?"
    "|subscription-key|credential|magic|assertion|code_verifier|client_secret|key-pair-id|appid|app_id|app_key|appkey"
    "|ticket|csrfmiddlewaretoken|hdnts|hdnea|authtoken|auth_key|authkey|secret_?key|private_?key|sharekey|sas"
)
_WEAK_QUERY = "code|key|auth|session|sessionid|sid|hmac|hash|login|invite|nonce|policy|t|k|s|h|sign|pin|id_token_hint"

STRUCTURES: tuple[Structure, ...] = (
    Structure(
        "url",
        hints(b"://"),
        # The password may hold anything that a careless person types, up to the last @ before the path.
        pattern(r"(://[^\s/@:\"'<>\\]*:)([^\s/\"'<>?]+)@"),
        is_given,
    ),
    Structure(
        "url",
        hints(b"://"),
        # A slash in the password: only where the host's end follows the @.
        pattern(r"(://[^\s/@:\"'<>\\?#]+:)([^\s@:\"'<>?#=]*/[^\s@\"'<>?#]*)@[A-Za-z0-9.-]+[:/]"),
        is_given,
    ),
    Structure("url-user", hints(b"://"), pattern(r"(://)([^\s/@:\"'<>\\?#]{20,})@"), is_long),
    Structure(
        "query",
        hints(b"?", b"&", b"#"),
        pattern(rf"([?&#](?:amp;|[A-Za-z0-9_.\[-]*[_.\[-]"
            rf"|x-?)?(?:[a-z]{{0,12}}(?:{_STRONG_QUERY}))\]?=)([^&\s\"'<>#`]+)", case=False),
        is_given,
    ),
    Structure("query", hints(b"?", b"&", b"#"), pattern(
        rf"([?&](?:amp;)?(?:{_WEAK_QUERY})=)([^&\s\"'<>#`]+)", case=False), is_long),
    Structure("query", hints(b"?", b"&", b"#"), pattern(
        r"([?&](?:[a-z]+_)?(?:code|pin|otp)=)([0-9]{6,10})\b"), is_given),
    Structure(
        "link",
        hints(b"://"),
        pattern(
            r"(://[^\s\"'<>?#]*/(?:[a-z_-]*(?:login|log-in|signin|sign-in|sign_in|magic|reset|invite|invitation"
            r"|invites|confirm|confirmation"
            r"|verify|verification|activate|activation|one-time|onetime|otl|unsubscribe|share|shared|token|recover"
            r"|recovery|set-password"
            r"|auth|password)[a-z_-]*)"
            r"/(?:[^\s\"'<>?#/]+/)*)([A-Za-z0-9_.~:%=-]{16,})",
            case=False,
        ),
        is_link,
    ),
    Structure(
        "webhook",
        hints(b"hook"),
        pattern(
            r"(hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/"
            r"|discord(?:app)?\.com/api(?:/v[0-9]+)?/webhooks/"
            r"|webhook\.office\.com/webhookb2/|hooks\.zapier\.com/hooks/catch/|hook\.[a-z0-9.]+\.make\.com/"
            r"|://[^\s\"'<>?#]*/(?:web)?hooks?/(?:[a-z]{2,12}/)*)([^\s\"'<>`)\]]{12,})",
            case=False,
        ),
        is_hook,
    ),
    Structure(
        "authorization",
        hints(b"uthorization"),
        # Schemes with parameters: everything up to the end of the line.
        pattern(
            r"((?:proxy[-_])?authorization[\"'\\\]]*\s*[:=,]\s*[frbu]?[\"'`\\]*"
            r"(?:digest|aws4[a-z0-9-]*|oauth|hawk|signature|hmac[a-z0-9-]*|mac|sharedkey(?:lite)?|acs|google[a-z]*"
            r"|bce[a-z0-9-]*|tc3[a-z0-9-]*)[ \t]+)"
            r"([^\n'`]*[=:][^\n'`]*)",
            case=False,
        ),
        is_given,
    ),
    Structure(
        "authorization",
        hints(b"uthorization"),
        pattern(
            r"\b((?:proxy[-_])?authorization[\"'\\\]]*\s*[:=,]\s*[frbu]?[\"'`\\]*"
            r"(?:bearer|basic|token|digest|apikey|api-key|negotiate|ntlm|key|splunk|dpop|hmac|ssws|genie-?key|bot|jwt"
            r"|discogs|client-id|[a-z]{2,12}-(?:auth|key|token)|pve[a-z]+=[^\s=]+=?)[\s=]+"
            r"(?:token=)?[\"'\\]*)([^\s\"'`<>,;\\]+)",
            case=False,
        ),
        is_scheme_value,
    ),
    Structure(
        "authorization",
        hints(b"uthorization"),
        pattern(
            r"\b((?:proxy[-_])?authorization[\"'\\\]]*\s*[:=]\s*[frbu]?[\"'`\\]*)([^\s\"'`<>,;\\]{12,})", case=False
        ),
        is_bare,
    ),
    Structure(
        "bearer",
        hints(b"bearer"),
        pattern(r"\b(bearer[\s,=:]+[\"'`]?)([A-Za-z0-9_.~+/=-]{12,})", case=False),
        is_bare,
    ),
    Structure(
        "header",
        hints(b"x-", b"-signature"),
        pattern(
            r"(?:^|[^A-Za-z0-9-])((?:x-[a-z0-9-]*|[a-z]+-)(?:signature|hmac|token|key|secret|auth|password|session"
            r"|credential|jwt|csrf|xsrf)"
            r"[a-z0-9-]*[\"'\\]*[ \t]*[:=][ \t]*[\"'\\]*(?:sha(?:1|256|512)=|v[0-9]=|bearer[ \t]+"
            r"|t=[0-9]+,v[0-9]=)?)([^\s\"'`<>,;\\]{12,})",
            case=False,
        ),
        is_long,
    ),
    Structure("sql", hints(b"password", b"identified"), pattern(
        r"(\b(?:(?:create|alter)[ \t]+(?:user|role|login|server|database)\b[^;\n]*?\bpassword"
        r"|identified[ \t]+(?:with[ \t]+[\w\"'`]+[ \t]+)?(?:by|as)"
        r"(?:[ \t]+password)?|set[ \t]+password(?:[ \t]+for[^\n=]*)?[ \t]*="
        r"|with[ \t]+(?:encrypted[ \t]+)?password)[ \t]*=?[ \t]*(?:\(|N)?[ \t]*['\"])([^'\"\n]+)",
        case=False), is_given),
    Structure("login", hints(b"auth", b"login", b"credential"), pattern(
        r"((?:\bauth\b[\"']?\s*[=:]\s*|(?:Basic|Digest|Plain)[A-Za-z]*(?:Auth|Credentials?)[A-Za-z]*|\.login"
        r"|\.authenticate|\.auth|Credentials?)[\[(]\s*[a-z_]*=?[\"'][^\"'\n]+[\"'],\s*[a-z_]*=?[\"'])([^\"'\n]{3,})"),
        is_flag),
    Structure("oracle", hints(b"@"), pattern(
        r"((?:^|[\s\"'=:])[A-Za-z][A-Za-z0-9_$]*/)([^\s@\"'/]{4,})@(?://)?[A-Za-z0-9.-]+(?:[:/]|\b)"),
        is_probably_chosen),
    Structure("table", hints(b"|"), pattern(
        rf"(\|[ \t*`]*[\w .-]*(?:{words()})[ \t*`]*\|[ \t`]*)([^\s|`]+)[ \t`]*\|", case=False), is_cell),
    Structure(
        "jwk",
        hints(b'"d', b'"k"', b'"q', b"'d'"),
        pattern(r"(\\*[\"'](?:d|k|dp|dq|qi)\\*[\"'][ \t]*:[ \t]*\\*[\"'])([A-Za-z0-9_-]{22,})"),
        is_long,
    ),
    Structure("xmlkey", hints(b"keyvalue>"), pattern(
        r"(<(?:D|P|Q|DP|DQ|InverseQ)>)([A-Za-z0-9+/=\s]{20,})<"), is_given),
)  # fmt: skip


def hide_structures(text: bytes, scope: Scope) -> bytes:
    """Replace the secret of each structure of the table."""
    return hide_rows(STRUCTURES, text, scope)
