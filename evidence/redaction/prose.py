"""Tier 3: secrets that a sentence tells: `the password is`, `login bob / `, one-time codes, seed phrases."""

from __future__ import annotations

from evidence.redaction.engine import Scope, hints, pattern
from evidence.redaction.judges import (
    is_given,
    is_named_before,
    is_probably_chosen,
    is_said,
)
from evidence.redaction.keys import (
    WORD,
    words,
)
from evidence.redaction.rows import Structure, hide_rows
from evidence.redaction.values import (
    has_digit,
)

_ABOUT = (
    r"(?:[ \t]+(?:for|to|of|on|in|at|from|für|fuer|zum|zur|von|vom|der|des|pour|du|de la|de|para|do|da|per|di|del"
    r"|voor|dla"
    r"|material|для|к|от|у|на|used|we use)[ \t][^\n.;!?]+?)"
)
_USERS = r"[A-Za-z0-9._@\\-]+"

PROSE: tuple[Structure, ...] = (
    Structure("code", hints(b"code", b"otp", b"pin", b"password", b"tan ", b"tan:", b"tan="), pattern(
        r"\b((?:(?:one[ -]?time|otp|totp|2fa|mfa|two-factor|verification|security|sms|auth(?:entication)?|backup"
        r"|recovery|access|login|sign-?in|confirmation|bestätigungs|pairing|device|user)"
        r"[ -]?(?:pass)?(?:code|pin|password|tan)s?|otp|pin(?:[ -]code)?)[\"']?[ \t]*(?:is|was|are|lautet|="
        r"|:)[ \t]*[\"'`]?)([0-9]{3}[ -]?[0-9]{3}\b|[0-9]{4,10}\b|[A-Z0-9]{4,}(?:-[A-Z0-9]{4,})+|[A-Z0-9]{8,}\b)",
        case=False), has_digit),
    Structure("code", hints(b"code"), pattern(
        r"\b(code[ \t]+is[ \t]*:?[ \t]*[\"'`]?)([0-9]{3}[ -]?[0-9]{3})\b", case=False), has_digit),
    Structure("seed", hints(b"phrase", b"seed", b"mnemonic", b"words"), pattern(
        r"((?:(?:seed|recovery|mnemonic|backup|secret|wallet)[ -]?(?:phrase|words?)?|passphrase"
        r"|mnemonic)[\"']?(?:[ \t]+(?:is|was))?[ \t]*[:=]?[ \t]*[\"'`]?)"
        r"((?:[a-z]{3,8}[ ,\n]+){11,23}[a-z]{3,8}\b)", case=False), is_given),
    Structure("phrase", hints(b"phrase"), pattern(
        r"(pass ?phrase[ \t]+(?:is[ \t]+)?[:=]?[ \t]*[\"'`])([^\"'`\n]{8,})[\"'`]", case=False), is_given),
    Structure(
        "spoken",
        WORD | hints(b"login"),
        pattern(
            rf"((?:{words()}|login|key material)[\"'`*]*(?:{_ABOUT}[ \t]*[:=]|(?:{_ABOUT})?(?:[ \t]*[ \t](?:is now"
            rf"|was changed to|was set to|is|was|are|ist|war|lautet|est|es|é|è"
            r"|jest|er|är|это|set to|changed to|reset to|was changed to|was set to|has been set to|remains|now|be"
            r"|to)[ \t:]|[ \t]+(?:->|[-–—])|[ \t]*(?:\x{662f}|\x{4e3a}|は)))"
            r"(?:[ \t]+(?:now|still|currently|set to|jetzt|nun|maintenant"
            r"|ahora))?[ \t]*:?[ \t]*[\"'`*(]*)([^\s\"'`*(][^\s\"'`]{5,})",
            case=False,
        ),
        is_said,
    ),
    Structure("hex", WORD, pattern(
        r"(\b(?:api|rest|admin|app|account|auth|access|service|server|secret|private|project|master|write|read|live"
        r"|search|integration|ingest"
        r"|deepgram|algolia|genie|datadog|newrelic|sendgrid|mailgun|twilio|client|developer|subscription|license"
        r"|personal|user|bot|deploy|[A-Za-z]+[ \t]+api)"
        r"[ \t_-]?(?:key|token|secret)[\"'`]?[ \t]*(?:is|:|=)?[ \t]+[\"'`]?)([0-9a-f]{32,}"
        r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\b", case=False), is_given),
    Structure("spoken", WORD, pattern(
        rf"((?:{words()})[\"'`*]*[ \t]+[\"'`(]?)([^\s\"'`()]{{8,}})", case=False), is_named_before),
    Structure("login", hints(
        b"login", b"log in", b"logged", b"sign in", b"cred", b"user", b"admin", b"account", b"zugang", b"anmeld",
        b"identif",
        b"konto", b"use ", b"root"), pattern(
        rf"(\b(?:log[ -]?in|logged in|sign in|cred(?:ential)?s?|user(?:name)?|account|zugang(?:sdaten)?|anmeldung"
        rf"|identifiants?|konto|use|with|as)\b[^\n]*?[ \t\"'`(:=]"
        rf"{_USERS}[\"'`]?[ \t]?[/:|][ \t]?[\"'`]?)([^\s\"'`)/|]+)", case=False), is_probably_chosen),
    Structure("login", hints(b"root", b"admin"), pattern(
        r"(\b(?:root|admin(?:istrator)?)[ \t]*[/:][ \t]*)([^\s\"'`)/|]+)", case=False), is_probably_chosen),
)  # fmt: skip


def hide_spoken(text: bytes, scope: Scope) -> bytes:
    """Replace secrets that a sentence tells."""
    return hide_rows(PROSE, text, scope)
