"""Names of secrets: the words by which a key says that its value is secret, in several languages, and what counts."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from dataclasses import dataclass

from evidence.redaction.engine import pattern, sign
from evidence.redaction.values import (
    has_digit,
    is_amount,
    is_chosen,
    is_code,
    is_identifier,
    is_named_after,
    is_path,
    is_prose,
    is_random,
    is_slug,
    is_template,
    is_word,
)


@dataclass(frozen=True, slots=True)
class Assigned:
    """One assignment. `loose` is ` = ` with spaces, as code writes it; `quoted` values come without their quotes."""

    key: bytes
    value: bytes
    quoted: bool
    loose: bool

    @property
    def is_expression(self) -> bool:
        """Whether an unquoted value is code: a name, a call, or an operator behind a loose sign."""
        return not self.quoted and (is_code(self.value) or (self.loose and self.value[:1] in b"(!+-/~?"))


def _password(found: Assigned) -> bool:
    """Nearly anything can be a password; what reads as code or prose is left."""
    value = found.value
    if len(value) < 3 or is_path(value) or found.is_expression:
        return False
    if is_word(value):
        named_by_itself = is_code(value) or value.lower() in _SELF_NAMES
        return not named_by_itself and (found.quoted or (found.key.isupper() and not found.loose))
    return not (is_prose(value) or (is_named_after(value) and (found.loose or found.quoted)))


def _short(found: Assigned) -> bool:
    """Under `pass`, `pw` or a word with other meanings: no word and no amount."""
    value = found.value
    return (
        (has_digit(value) or found.quoted or is_chosen(value))
        and not is_amount(value)
        and len(value) >= 6
        and _password(found)
        and not is_word(value)
    )


def _secret(found: Assigned) -> bool:
    """Tokens and keys are random; words, names, URLs, paths and small numbers are something else."""
    value = found.value
    if value.isalnum() and is_random(value, 12):  # by far the most usual one
        return True
    if len(value) < 6 or is_word(value) or (value.isdigit() and len(value) < 12) or b"://" in value or is_path(value):
        return False
    if is_named_after(value) or is_template(value):
        return False
    if b" " in value:
        return any(len(word) >= 12 and has_digit(word) for word in value.split())
    if found.quoted:
        return True
    return not found.is_expression and (not found.loose or _NAME.fullmatch(value) is None or is_random(value, 12))


def _random(found: Assigned) -> bool:
    """The key's name alone says little, so the value must look random and not like a public identifier."""
    value = found.value
    return (
        is_random(value, 20)
        and b" " not in value
        and not (is_identifier(value) or is_code(value) or is_path(value) or is_slug(value))
    )


def _opaque(found: Assigned) -> bool:
    """`SERVICE_KEY=`: as random, and hashes too where the key is a setting's name in capitals."""
    value = found.value
    if _random(found):
        return True
    return (
        found.key.isupper() and b"_" in found.key and len(value) >= 32 and is_random(value, 32) and not is_path(value)
    )


Judge = Callable[[Assigned], bool]

PASSWORDS = (
    "password", "passwd", "passphrase", "passcode", "pwd", "passwort", "kennwort", "mot de passe", "motdepasse",
    "mot_de_passe", "contraseña", "contrasena", "senha", "hasło", "haslo", "wachtwoord", "lösenord", "losenord",
    "passord", "adgangskode", "salasana", "heslo", "jelszó", "jelszo", "лозинка", "пароль", "пароля", "şifre", "geslo",
    "lozinka", "parolă", "parool", "slaptažodis", "κωδικός", "סיסמה", "סיסמא", "كلمة المرور", "كلمة السر", "पासवर्ड",
    "รหัสผ่าน", "mật khẩu", "kata sandi", "密码", "密碼", "口令", "パスワード", "暗証番号", "비밀번호", "암호",
    "гасло", "парола", "zaporka", "palavra-passe", "palavra passe", "codice segreto", "senhas", "pincode",
)  # fmt: skip
"""Words for a password and for nothing else."""
SHORT = ("pass", "pw", "mdp", "parola", "sifre", "clave", "sandi", "parole", "psw", "pswd", "passwrd", "pin")
"""Words for a password that mean other things too, or stand within others."""
SECRETS = ("secret", "secretkey", "geheimnis", "секрет", "secreto", "segredo", "シークレット", "시크릿", "secretid")
TOKENS = ("token", "jeton", "токен", "令牌", "トークン", "토큰", "bearer", "tokenid")
KEYS = ("密钥", "密鑰", "秘钥", "秘密鍵", "api-schlüssel", "clé api", "clé secrète", "clave api", "chave api",
        "chiave api", "api-ключ", "apiキー", "api 키", "apikey", "api key", "access key", "secret key", "private key",
        "accountkey", "sharedaccesskey", "recovery key", "license key", "encryption key", "authkey", "bearer_key",
        "requirepass", "masterauth", "psk", "presharedkey", "preshared key", "wifi key", "wi-fi key",
        "wlan key", "network key", "security key", "passkey")  # fmt: skip
_KEY_KINDS = (
    "api", "access", "secret", "private", "signing", "encryption", "master", "account", "auth", "license", "admin",
    "service", "shared", "server", "session", "webhook", "deploy", "bot", "app", "application", "consumer",
    "subscription", "stripe", "hmac", "crypt", "fernet", "jwt", "rsa", "storage", "client", "recovery",
)  # fmt: skip
_API_KEYS = tuple(f"{kind}{separator}key" for kind in _KEY_KINDS for separator in ("_", "", " "))
OTHERS = (
    "key",
    "auth",
    "credential",
    "credentials",
    "creds",
    "pat",
    "signature",
    "sas",
    "clé",
    "chave",
    "ключ",
    "llave",
)


def _ending(word: str) -> str:
    return re.sub(r"[-_. ]", "_", word.casefold())


FAMILIES: tuple[tuple[str, tuple[str, ...], Judge], ...] = (
    ("password", tuple(map(_ending, PASSWORDS)), _password),
    ("secret", tuple(map(_ending, SECRETS)), _secret),
    ("token", tuple(map(_ending, TOKENS)), _secret),
    ("key", tuple(map(_ending, (*_API_KEYS, *KEYS))), _secret),
    ("key", ("_key", "_pat"), _opaque),
    ("other", tuple(map(_ending, OTHERS)), _random),
)
"""Rule name, endings of the key (folded, separators as `_`), and what counts as a secret under it."""

SUFFIX = (
    r"(?:[_-]?(?:[0-9]{1,3}|old|new|prod|production|dev|test|staging|live|base|value|val|str|string|plain|text|raw|b64"
    r"|base64|enc|hash_?salt|id_?secret|primary|secondary|backup|default|main|local|root|admin|user|v[0-9]|data|salt))?"
)
"""What may follow the word in a key: `SECRET_KEY_BASE`, `password2`, `token_prod`."""
_SUFFIX = re.compile(SUFFIX[:-1] + "$")

_SELF_NAMES = frozenset(b"username user email login admin name field hidden input reset change update confirm".split())
_NAME = re.compile(rb"[A-Za-z_]\w*")
_ENCODED = re.compile("%5f|%2d|%20|[-. ]")


def words() -> str:
    """All words as one RE2 alternation, longest first; a space in a word may be any separator or none."""
    every = {*PASSWORDS, *SHORT, *SECRETS, *TOKENS, *KEYS, *OTHERS}
    return "|".join(word.replace(" ", "[ _-]?") for word in sorted(every, key=lambda word: (-len(word), word)))


WORD = sign(b"word", pattern(words(), case=False))
"""The hint of rules that need one of the words."""


def family(found: Assigned) -> str | None:
    """The name of the rule by which the value is a secret, or None."""
    known = _judge(found.key)
    return known[0] if known and known[1](found) else None


@functools.lru_cache(maxsize=2048)
def _judge(key: bytes) -> tuple[str, Judge] | None:
    folded = _ENCODED.sub("_", key.decode("utf-8", "replace").casefold()).strip("_")
    plain = folded[: match.start()] if (match := _SUFFIX.search(folded)) and match.start() else folded
    for name, endings, judge in FAMILIES:
        if folded.endswith(endings) or plain.endswith(endings):
            return name, judge
    capital = any(key.endswith(word.capitalize().encode()) for word in SHORT)  # dbPass, userPw
    return ("password", _short) if capital or re.split(r"[_\W]", plain)[-1] in SHORT else None
