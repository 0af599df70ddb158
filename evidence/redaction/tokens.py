"""Tier 1: tokens that say by their own prefix what they are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from evidence.redaction.engine import Scope, pattern, substitute
from evidence.redaction.values import has_digit

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
    Prefix("github", ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"), r"[A-Za-z0-9_.-]*[A-Za-z0-9]{16,}", loose=True),
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
    Prefix("databricks", ("dapi",), rf"{_HEX}{{32}}(?:-[0-9])?"),
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
    Prefix("jwt", ("eyJ",), r"[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+){1,4}", loose=True),
)  # fmt: skip

SHAPES: tuple[tuple[str, str], ...] = (
    ("telegram", r"[0-9]{8,10}:AA[A-Za-z0-9_-]{30,}"),
    ("discord", r"\b[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,}"),
    ("azure", r"\b[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{30,}"),
    ("azure-devops", r"\b[A-Za-z0-9]{52}JQQJ99[A-Za-z0-9]{18}AZDO[A-Za-z0-9]{4}\b"),
    ("django", r"\bdjango-insecure-[^\s\"'`]{20,}"),
)
"""Tokens without a literal prefix that is theirs alone."""


def _escaped(prefix: str) -> str:
    return "".join(char if char.isalnum() or char in "_-" else f"\\{char}" for char in prefix)


def _source(row: Prefix) -> str:
    start = "" if row.loose else r"\b"
    return f"{start}(?:{'|'.join(map(_escaped, row.prefixes))}){row.rest}"


_BY_PREFIX = sorted(
    ((prefix.encode(), row) for row in PREFIXES for prefix in row.prefixes),
    key=lambda item: len(item[0]),
    reverse=True,
)
_ANY = pattern("|".join([*map(_source, PREFIXES), *(source for _, source in SHAPES)]))
_SHAPES = tuple((name, pattern(f"^(?:{source})$")) for name, source in SHAPES)


def hide_tokens(text: bytes, scope: Scope) -> bytes:
    """Replace every token that is known by its prefix or its shape."""

    def replace(match: Any) -> bytes | None:
        value = match.group(0)
        for prefix, row in _BY_PREFIX:
            if value.startswith(prefix):
                return (
                    None if row.digit and not has_digit(value[len(prefix) :]) else scope.hide("TOKEN", row.name, value)
                )
        name = next((name for name, shape in _SHAPES if shape.match(value)), "other")
        return scope.hide("TOKEN", name, value)

    return substitute(_ANY, text, replace)
