"""Tier 1: tokens that say by their own prefix what they are."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from evidence.redaction.engine import Scope, pattern, sign, spans_of, substitute
from evidence.redaction.values import has_digit, is_random

_B64URL = r"[A-Za-z0-9_-]"
_HEX = r"[0-9a-f]"


@dataclass(frozen=True, slots=True)
class Prefix:
    """A row: the name in the placeholder, literal prefixes (cased), the rest as RE2.

    `loose` prefixes are so particular that they count in the middle of a word too; the others start at a boundary.
    `digit` wants at least one digit in the token, where the prefix alone could start a name.
    """

    name: str
    prefixes: tuple[str, ...]
    rest: str
    loose: bool = False
    digit: bool = False


PREFIXES: tuple[Prefix, ...] = (
    Prefix("agentlink", ("alk_",), rf"[a-z]+_{_B64URL}{{6,}}", loose=True),
    Prefix("aws", ("AKIA", "ASIA", "ABIA", "ACCA"), r"[A-Z0-9]{16}", loose=True, digit=False),
    Prefix("aws-bedrock", ("ABSK",), r"[A-Za-z0-9+/]{60,}={0,2}"),
    Prefix("google", ("AIza",), rf"{_B64URL}{{30,}}", loose=True),
    Prefix("google", ("ya29.", "GOCSPX-"), r"[A-Za-z0-9_.-]{20,}", loose=True),
    Prefix("google", ("1//0",), rf"{_B64URL}{{30,}}"),
    Prefix("github", ("github_pat_",), r"[A-Za-z0-9_]{16,}", loose=True),
    Prefix("github", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
           r"[A-Za-z0-9_]{16,}(?:[.-][A-Za-z0-9_-]{6,})*", loose=True),
    Prefix(
        "gitlab",
        ("glpat-", "gldt-", "glrt-", "glptt-", "glft-", "glsoat-", "glcbt-", "glimt-", "glagent-", "glffct-", "gloas-"),
        r"[A-Za-z0-9_.-]{16,}",
        loose=True,
    ),
    Prefix("npm", ("npm_",), r"[A-Za-z0-9]{30,}"),
    Prefix("pypi", ("pypi-AgE", "pypi-AgEN"), rf"{_B64URL}{{30,}}", loose=True),
    Prefix("rubygems", ("rubygems_",), rf"{_HEX}{{40,}}"),
    Prefix("cargo", ("cio",), r"[A-Za-z0-9]{32}\b", digit=True),
    Prefix("slack", ("xoxb-", "xoxp-", "xoxa-", "xoxr-", "xoxs-", "xoxe-", "xoxe.xox", "xoxc-", "xoxd-"),
           r"[A-Za-z0-9%._-]{10,}", loose=True),
    Prefix("slack", ("xapp-",), r"[A-Za-z0-9-]{20,}", loose=True),
    Prefix("stripe", ("sk_live_", "sk_test_", "rk_live_", "rk_test_", "sk_org_"), r"[A-Za-z0-9_]{16,}", loose=True),
    Prefix("webhook", ("whsec_",), r"[A-Za-z0-9+/=]{20,}"),
    Prefix("anthropic", ("sk-ant-",), rf"{_B64URL}{{16,}}", loose=True),
    Prefix("openrouter", ("sk-or-",), rf"{_B64URL}{{16,}}", loose=True),
    Prefix("openai", ("sk-proj-", "sk-svcacct-", "sk-admin-", "sk-None-"), rf"{_B64URL}{{16,}}", loose=True),
    Prefix("openai", ("sk-", "sess-"), rf"{_B64URL}{{20,}}", digit=True),
    Prefix("huggingface", ("hf_", "api_org_"), r"[A-Za-z0-9]{20,}", digit=False),
    Prefix("xai", ("xai-",), r"[A-Za-z0-9]{40,}"),
    Prefix("groq", ("gsk_",), r"[A-Za-z0-9]{32,}"),
    Prefix("perplexity", ("pplx-",), r"[A-Za-z0-9]{32,}"),
    Prefix("replicate", ("r8_",), r"[A-Za-z0-9]{30,}"),
    Prefix("nvidia", ("nvapi-",), rf"{_B64URL}{{30,}}"),
    Prefix("tavily", ("tvly-",), rf"{_B64URL}{{16,}}", digit=True),
    Prefix("fireworks", ("fw_",), r"[A-Za-z0-9]{20,}", digit=True),
    Prefix("cerebras", ("csk-",), r"[a-z0-9]{32,}", digit=True),
    Prefix("langsmith", ("lsv2_pt_", "lsv2_sk_"), r"[A-Za-z0-9_]{20,}"),
    Prefix("langfuse", ("sk-lf-", "pk-lf-"), r"[0-9a-f-]{30,}"),
    Prefix("digitalocean", ("dop_v1_", "doo_v1_", "dor_v1_"), rf"{_HEX}{{32,}}", loose=True),
    Prefix("doppler", ("dp.pt.", "dp.st.", "dp.ct.", "dp.sa.", "dp.scim.", "dp.audit."), r"[A-Za-z0-9._-]{30,}"),
    Prefix("databricks", ("dapi", "dose", "dkea", "dsap"), rf"{_HEX}{{32}}(?:-[0-9])?"),
    Prefix("linear", ("lin_api_", "lin_oauth_"), r"[A-Za-z0-9]{30,}", loose=True),
    Prefix("notion", ("ntn_",), r"[A-Za-z0-9]{30,}"),
    Prefix("notion", ("secret_",), r"[A-Za-z0-9]{40,}", digit=True),
    Prefix("vault", ("hvs.", "hvb.", "hvr."), rf"{_B64URL}{{20,}}"),
    Prefix("vault", ("s.",), r"[A-Za-z0-9]{24}\b", digit=True),
    Prefix("terraform", ("atlasv1.",), rf"{_B64URL}{{30,}}"),
    Prefix("age", ("AGE-SECRET-KEY-1", "AGE-PLUGIN-"), r"[A-Z0-9-]{20,}", loose=True),
    Prefix("tailscale", ("tskey-",), r"[A-Za-z0-9-]{16,}", loose=True),
    Prefix("docker", ("dckr_pat_", "dckr_oat_"), rf"{_B64URL}{{16,}}", loose=True),
    Prefix("grafana", ("glsa_", "glc_"), r"[A-Za-z0-9_+/=]{24,}", loose=True),
    Prefix("atlassian", ("ATATT3", "ATCTT3", "ATBB"), r"[A-Za-z0-9_=-]{24,}", digit=True),
    Prefix("sentry", ("sntrys_", "sntryu_"), r"[A-Za-z0-9+/=_]{24,}", loose=True),
    Prefix("sendgrid", ("SG.",), r"[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),
    Prefix("mailchimp", ("key-",), rf"{_HEX}{{32}}\b"),
    Prefix("postman", ("PMAK-",), r"[0-9a-f-]{30,}"),
    Prefix("newrelic", ("NRAK-", "NRJS-", "NRII-"), r"[A-Za-z0-9_-]{16,}"),
    Prefix("shopify", ("shpat_", "shpca_", "shppa_", "shpss_"), r"[A-Fa-f0-9]{32}", loose=True),
    Prefix("square", ("sq0atp-", "sq0csp-", "EAAAE"), r"[A-Za-z0-9_-]{22,}", digit=True),
    Prefix("facebook", ("EAA",), r"[A-Za-z0-9]{80,}", digit=True),
    Prefix("twilio", ("SK", "AC"), rf"{_HEX}{{32}}\b"),
    Prefix("planetscale", ("pscale_tkn_", "pscale_pw_", "pscale_oauth_"), r"[A-Za-z0-9_.=-]{24,}", loose=True),
    Prefix("figma", ("figd_", "figo_"), rf"{_B64URL}{{24,}}"),
    Prefix("airtable", ("pat",), r"[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    Prefix("pulumi", ("pul-",), rf"{_HEX}{{40}}"),
    Prefix("fly", ("FlyV1 fm", "fm1_", "fm2_", "fo1_"), r"[A-Za-z0-9+/=_,-]{30,}"),
    Prefix("render", ("rnd_",), r"[A-Za-z0-9]{24,}", digit=True),
    Prefix("supabase", ("sbp_", "sb_secret_"), r"[A-Za-z0-9_-]{24,}", loose=True),
    Prefix("netlify", ("nfp_",), r"[A-Za-z0-9]{30,}"),
    Prefix("vercel", ("vcp_", "vck_", "vercel_blob_rw_"), r"[A-Za-z0-9_]{24,}"),
    Prefix("cloudflare", ("v1.0-",), rf"{_HEX}{{24}}-{_HEX}{{60,}}"),
    Prefix("dynatrace", ("dt0c01.", "dt0s16."), r"[A-Z0-9]{20,}\.[A-Z0-9]{40,}"),
    Prefix("artifactory", ("AKCp",), r"[A-Za-z0-9]{60,}"),
    Prefix("artifactory", ("cmVmdGtu",), r"[A-Za-z0-9]{50,}"),
    Prefix("dropbox", ("sl.",), rf"{_B64URL}{{60,}}"),
    Prefix("posthog", ("phx_", "phc_"), r"[A-Za-z0-9]{30,}"),
    Prefix("easypost", ("EZAK", "EZTK"), r"[A-Za-z0-9]{54,}"),
    Prefix("hubspot", ("pat-na1-", "pat-eu1-"), r"[0-9a-f-]{30,}"),
    Prefix("1password", ("ops_eyJ",), r"[A-Za-z0-9+/=_-]{40,}"),
    Prefix("onepassword-key", ("A3-",), r"[A-Z0-9]{6}-(?:[A-Z0-9]{5,11}-?){4,}", digit=True),
    Prefix("duffel", ("duffel_live_", "duffel_test_"), rf"{_B64URL}{{30,}}"),
    Prefix("prefect", ("pnu_", "pnb_"), r"[A-Za-z0-9]{30,}"),
    Prefix("gitlab", ("GR1348941",), rf"{_B64URL}{{16,}}", loose=True),
    Prefix("nuget", ("oy2",), r"[a-z0-9]{43}\b", digit=True),
    Prefix("honeycomb", ("hcaik_", "hcalk_", "hcamk_", "hcxik_"), r"[A-Za-z0-9]{26,}"),
    Prefix("elevenlabs", ("sk_",), rf"{_HEX}{{48}}\b"),
    Prefix("scaleway", ("SCW",), r"[A-Z0-9]{17}\b", digit=True),
    Prefix("sourcegraph", ("sgp_", "sgs_", "slk_", "sgd_"), r"[A-Za-z0-9_]{32,}", digit=True),
    Prefix("sonar", ("squ_", "sqp_", "sqa_", "sqb_"), rf"{_HEX}{{40}}"),
    Prefix("plaid", ("access-sandbox-", "access-development-",
                     "access-production-", "link-sandbox-", "public-sandbox-"),
           r"[0-9a-f-]{36}"),
    Prefix("clojars", ("CLOJARS_",), r"[a-z0-9]{50,}"),
    Prefix("alibaba", ("LTAI",), r"[A-Za-z0-9]{12,26}\b", digit=True),
    Prefix("tencent", ("AKID",), r"[A-Za-z0-9]{32}\b", digit=True),
    Prefix("yandex", ("AQVN", "YCAJ", "YCM", "t1.9"), r"[A-Za-z0-9_=.-]{22,}", digit=True),
    Prefix("buildkite", ("bkua_", "bkaj_", "bkct_"), r"[A-Za-z0-9]{30,}"),
    Prefix("circleci", ("CCIPAT_", "CCIPRJ_"), r"[A-Za-z0-9_]{30,}"),
    Prefix("firecrawl", ("fc-",), rf"{_HEX}{{32}}\b", digit=True),
    Prefix("shippo", ("shippo_live_", "shippo_test_"), rf"{_HEX}{{40}}"),
    Prefix("flutterwave", ("FLWSECK-", "FLWSECK_TEST-", "FLWPUBK-", "FLWPUBK_TEST-"), r"[A-Za-z0-9]{12,}(?:-X)?"),
    Prefix("elastic", ("essu_",), r"[A-Za-z0-9+/=_-]{30,}"),
    Prefix("mailgun", ("pubkey-",), rf"{_HEX}{{32}}\b"),
    Prefix("sendinblue", ("xkeysib-", "xsmtpsib-"), r"[a-z0-9-]{60,}", loose=True),
    Prefix("readme", ("rdme_",), r"[a-z0-9]{50,}"),
    Prefix("lob", ("live_", "test_"), rf"{_HEX}{{35}}\b", digit=True),
    Prefix("paypal", ("access_token$production$", "access_token$sandbox$"), r"[0-9a-z$]{20,}", loose=True),
    Prefix("deno", ("ddp_", "ddw_", "jsrp_"), r"[A-Za-z0-9]{30,}", digit=True),
    Prefix("ngrok", ("ak_", "cr_", "ngrok_"), r"2[A-Za-z0-9]{26}_?[A-Za-z0-9]{0,22}\b", digit=True),
    Prefix("expo", ("expo_", "exp_"), rf"{_B64URL}{{38,}}", digit=True),
    Prefix("jina", ("jina_",), rf"{_B64URL}{{40,}}"),
    Prefix("runpod", ("rpa_",), r"[A-Z0-9]{30,}[a-z0-9]*"),
    Prefix("e2b", ("e2b_",), rf"{_HEX}{{40}}"),
    Prefix("apify", ("apify_api_", "apify_proxy_"), r"[A-Za-z0-9]{30,}", loose=True),
    Prefix("contentful", ("CFPAT-",), rf"{_B64URL}{{40,}}"),
    Prefix("frameio", ("fio-u-",), rf"{_B64URL}{{50,}}"),
    Prefix("typeform", ("tfp_",), r"[A-Za-z0-9_.=-]{40,}"),
    Prefix("mapbox", ("sk.eyJ", "tk.eyJ"), r"[A-Za-z0-9_-]{20,}\.[A-Za-z0-9_-]{16,}"),
    Prefix("resend", ("re_",), r"[A-Za-z0-9]{8}_[A-Za-z0-9]{20,}", digit=True),
    Prefix("pinecone", ("pcsk_",), r"[A-Za-z0-9_]{40,}"),
    Prefix("heroku", ("HRKU-",), rf"{_B64URL}{{36,}}"),
    Prefix("neon", ("napi_", "neon_"), r"[a-z0-9]{40,}", digit=True),
    Prefix("atlassian", ("ATOA",), r"[A-Za-z0-9_=-]{40,}", digit=True),
    Prefix("facebook", ("EAACEdEose0cBA", "IGQV", "EAAG"), r"[A-Za-z0-9]{30,}"),
    Prefix("intra42", ("s-s4t2ud-", "s-s4t2af-"), rf"{_HEX}{{64}}"),
    Prefix("zoho", ("1000.",), rf"{_HEX}{{32}}\.{_HEX}{{32}}"),
    Prefix("microsoft", ("M.C5", "EwB", "0.AR", "0.AX", "0.AS", "0.AT", "0.AU"),
           r"[A-Za-z0-9_+/!*=.-]{80,}", digit=True),
    Prefix("modal", ("ak-", "as-"), r"[A-Za-z0-9]{22}\b", digit=True),
    Prefix("infisical", ("st.",), rf"{_HEX}{{24}}\.{_HEX}{{32}}\.{_HEX}{{32}}"),
    Prefix("github", ("v1.",), rf"{_HEX}{{40}}\b"),
    Prefix("aiven", ("AVNS_",), rf"{_B64URL}{{15,}}", loose=True),
    Prefix("tiktok", ("act.", "rft."), r"[A-Za-z0-9]{30,}![0-9]+\.[a-z0-9]+"),
    Prefix("jwt", ("eyJ",), r"[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+){1,4}", loose=True),
)  # fmt: skip

SHAPES: tuple[tuple[str, str], ...] = (
    ("telegram", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}"),
    ("discord", r"\b[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    ("azure", r"\b[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,}"),
    ("azure-devops", r"\b[A-Za-z0-9]+JQQJ99[A-Za-z0-9]{18}AZDO[A-Za-z0-9]{4}\b"),
    ("mailchimp", r"\b[0-9a-f]{32}-us[0-9]{1,2}\b"),
    ("asana", r"\b[0-2]/[0-9]{12,}(?:/[0-9]{12,})?:[0-9a-f]{32}\b"),
    ("twitter", r"\bA{18,}[A-Za-z0-9%]{40,}"),
    ("django", r"\bdjango-insecure-[^\s\"'`]{20,}"),
)
"""Tokens without a literal prefix that is theirs alone."""


def _escaped(prefix: str) -> str:
    return "".join(char if char.isalnum() or char in "_-" else f"\\{char}" for char in prefix)


_LOOSE = "|".join(_escaped(prefix) for row in PREFIXES if row.loose for prefix in row.prefixes)
_BOUND = "|".join(_escaped(prefix) for row in PREFIXES if not row.loose for prefix in row.prefixes)
_PREFIX = pattern(rf"{_LOOSE}|\b(?:{_BOUND})")
"""Only the prefixes: the automaton of whole tokens would have a state for each length of each of them."""
_BY_START: dict[bytes, list[tuple[bytes, Prefix, Any]]] = {}
for _row in PREFIXES:
    for _prefix in _row.prefixes:
        _BY_START.setdefault(_prefix[:2].encode(), []).append((_prefix.encode(), _row, pattern(_row.rest)))
for _rows in _BY_START.values():
    _rows.sort(key=lambda item: -len(item[0]))
_SHAPE = pattern("|".join(source for _, source in SHAPES))
_SHAPES = tuple((name, pattern(f"^(?:{source})$")) for name, source in SHAPES)

_PUBLIC_IDS = frozenset(
    b"commit sha sha1 sha256 sha512 md5 rev hash digest cache chunk msg req toolu call run thread file resp rs fc ws"
    b" item"
    b" chatcmpl asst batch user usr org proj session sess cus pi pm ch evt cs price prod sub in id uuid obj img image"
    b" tmp"
    b" container layer build job task node peer board event trace span etag blob tree v index bundle main vendor asst"
    b" step"
    b" part prt ses account acct page block rec tbl app".split()
)


def _last_part(value: bytes) -> bool:
    """A word for a kind of token before the last part, and that looks random."""
    last = re.split(rb"[_.-]", value)[-1]
    return is_random(last, 20)


def _prefixed(value: bytes) -> bool:
    """`abc_` and 32 random characters: many vendors' form, but also that of public ids."""
    first, last = value.split(b"_", 1)[0], value.rsplit(b"_", 1)[-1]
    return first not in _PUBLIC_IDS and is_random(last, 32) and sum(map(last.count, _DIGITS)) >= 4


_DIGITS = [bytes([code]) for code in b"0123456789"]
LONG = sign(b"long", pattern(r"[A-Za-z0-9+/_=.~-]{20}"))
"""The hint of rules that need a long word."""
PLAIN = sign(b"plain", pattern(r"[A-Za-z0-9]{20}"))
"""The same without any sign in it."""
_KIND = (
    "live|test|prod|sandbox|production|secret|api|apikey|key|token|tok|pat|sk|rk|priv|auth|oauth|access|client|v[0-9]"
)
_UNKNOWN: tuple[tuple[str, Any, Callable[[bytes], bool]], ...] = (
    (
        "kind",
        pattern(rf"\b[A-Za-z][A-Za-z0-9_.-]*[_.-](?:{_KIND})[_.-](?:[A-Za-z0-9]+_)?[A-Za-z0-9]{{20,}}\b", case=False),
        _last_part,
    ),
    ("prefix", pattern(r"\b[a-z][a-z0-9]*_(?:[a-z0-9]+_)?[A-Za-z0-9]{32,}\b"), _prefixed),
)
"""Forms that many vendors' tokens have: a word for its kind, or a short prefix, before a long random part."""


def hide_tokens(text: bytes, scope: Scope) -> bytes:
    """Replace every token that is known by its prefix or its shape."""

    def shaped(match: Any) -> bytes | None:
        value = match.group(0)
        name = next((name for name, shape in _SHAPES if shape.match(value)), "other")
        return scope.hide("TOKEN", name, value)

    text = _hide_prefixed(text, scope)
    return _hide_unknown(substitute(_SHAPE, text, scope, shaped) if scope.holds(LONG) else text, scope)


def _hide_prefixed(text: bytes, scope: Scope) -> bytes:
    if scope.has_left(_PREFIX, text):
        return text
    pieces: list[bytes] = []
    done = 0
    for start, end, name in _prefixed_tokens(text):
        pieces += (text[done:start], scope.hide("TOKEN", name, text[start:end]))
        done = end
    if not pieces:
        scope.leaves(_PREFIX, text)
        return text
    pieces.append(text[done:])
    return b"".join(pieces)


def _prefixed_tokens(text: bytes) -> Iterator[tuple[int, int, str]]:
    """Where each token stands, and whose it is."""
    match = _PREFIX.search(text)
    while match is not None:
        start, _ = spans_of(match)[0]
        found = _token_at(text, start)
        if found is not None:
            yield start, *found
        match = _PREFIX.search(text, found[0] if found else start + 1)


def _token_at(text: bytes, start: int) -> tuple[int, str] | None:
    bound = start == 0 or not (text[start - 1 : start].isalnum() or text[start - 1 : start] == b"_")
    for prefix, row, rest in _BY_START[text[start : start + 2]]:
        if not (row.loose or bound) or not text.startswith(prefix, start):
            continue
        at = start + len(prefix)
        match = rest.match(text, at)
        if match is not None:
            end = int(spans_of(match)[0][1])
            if not row.digit or has_digit(text[at:end]):
                return end, row.name
    return None


def _hide_unknown(text: bytes, scope: Scope) -> bytes:
    if not scope.holds(PLAIN):
        return text
    for name, rule, judge in _UNKNOWN:

        def replace(match: Any, name: str = name, judge: Callable[[bytes], bool] = judge) -> bytes | None:
            value = match.group(0)
            return scope.hide("TOKEN", name, value) if judge(value) else None

        text = substitute(rule, text, scope, replace)
    return text


def holds_token(text: bytes) -> bool:
    """Whether a token of a known form stands in the text."""
    return next(_prefixed_tokens(text), None) is not None or _SHAPE.search(text) is not None
