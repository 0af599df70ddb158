"""The redactor against known cases, class by class, and against our own samples of every class that it claims."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from evidence.redaction import RedactionContext, redact
from tests.evidence.facts import encoded

CASES = encoded("redaction.b64")
SECRETS = [case for case in CASES if case["cat"] != "neg"]
NEGATIVES = [case for case in CASES if case["cat"] == "neg"]


def cleaned(case: dict[str, Any]) -> str:
    context = RedactionContext(
        project_root=case.get("project_root"),
        home=case.get("home"),
        known_hosts=tuple(case.get("known_hosts", ())),
        key=b"board",
    )
    once = redact(case["text"], context=context)
    assert redact(once.text, context=context).text == once.text
    return once.text


@pytest.mark.parametrize("case", SECRETS, ids=lambda case: f"{case['cat']}-{case['id']}")
def test_the_secret_is_hidden_and_its_surroundings_stay(case: dict[str, Any]) -> None:
    text = cleaned(case)
    assert [secret for secret in case["must_hide"] if secret in text] == []
    assert [kept for kept in case["must_keep"] if kept not in text] == []


@pytest.mark.parametrize("case", NEGATIVES, ids=lambda case: str(case["id"]))
def test_what_is_no_secret_stays_as_it_is(case: dict[str, Any]) -> None:
    assert cleaned(case) == case["text"]


def test_the_data_holds_every_category() -> None:
    counted: dict[str, int] = defaultdict(int)
    for case in CASES:
        counted[case["cat"]] += 1
    assert (len(CASES), len(counted), counted["neg"]) == (160, 32, 48)


R = "Q7x" * 12
"""Stands in for the random part of our samples: it looks random and belongs to nobody."""
HEX = "0f3c" * 16


@pytest.mark.parametrize(
    ("rule", "text", "secret"),
    [
        ("token.agentlink", f"alk_node_{R}", R),
        ("token.github", f"x ghp_{R} y", R),
        ("token.gitlab", f"GL=glrt-{R}", R),
        ("token.huggingface", f"hf_{R}", R),
        ("token.anthropic", f"sk-ant-api03-{R}", R),
        ("token.openai", f"sk-proj-{R}", R),
        ("token.tailscale", f"tskey-auth-{R}", R),
        ("token.docker", f"dckr_pat_{R}", R),
        ("token.databricks", f"dapi{HEX[:32]}", HEX[:32]),
        ("token.terraform", f"ab.atlasv1.{R}", R),
        ("token.vault", f"hvs.{R}", R),
        ("token.age", f"AGE-SECRET-KEY-1{'QPZRY9X8' * 7}", "QPZRY9X8"),
        ("token.jwt", f"eyJ{R}.eyJ{R}.{R}", R),
        ("key.pem", f"-----BEGIN OPENSSH PRIVATE KEY-----\n{R}\n{R}\n-----END OPENSSH PRIVATE KEY-----", R),
        ("key.pem", f"-----BEGIN EC PRIVATE KEY-----\n{R}\n{R}", R),
        ("key.pem", f"'-----BEGIN PRIVATE KEY-----\\n{R}\\n{R[:5]}'", R[:5] + "'"),
        ("key.putty", f"Private-Lines: 2\n{R}\n{R}\nPrivate-MAC: 1", R),
        ("secret.url", "git clone https://bob:hunter22@git.example/x", "hunter22"),
        ("secret.url", "redis://:p4ss,word!@cache.example:6379/0", "p4ss,word!"),
        ("secret.url-user", f"https://{R}@git.example/x", R),
        ("secret.query", f"https://x.example/a?sv=1&sig={R}&se=2", R),
        ("secret.query", f"https://x.example/cb?code={R}", R),
        ("secret.query", f"/socket?token={R}", R),
        ("secret.link", f"https://x.example/login/{R}", R),
        ("secret.link", f"https://x.example/accounts/reset/Mg/{R}/", R),
        ("secret.webhook", f"https://discord.com/api/webhooks/123456789/{R}", R),
        ("secret.authorization", "Authorization: Basic Ym9iOmh1bnRlcjI=", "Ym9iOmh1bnRlcjI="),
        ("secret.authorization", f"'Authorization': 'token {R}'", R),
        ("secret.authorization", f"authorization: {R}", R),
        ("secret.bearer", f"sent Bearer {R}", R),
        ("secret.cookie", f"Set-Cookie: sid={R}; Path=/; HttpOnly", R),
        ("secret.cookie", f'"Cookie": "a=b; remember_me={R}"', R),
        ("secret.curl-user", "curl -s -u bob:hunter22 https://x.example", "hunter22"),
        ("secret.netrc", "machine x.example login bob password hunter22", "hunter22"),
        ("secret.flag", "tool --db-password hunter22 --verbose", "hunter22"),
        ("secret.flag", "sshpass -p hunter22 ssh x", "hunter22"),
        ("secret.spoken", "the token is hunter22!", "hunter22!"),
        ("secret.password", "POSTGRES_PASSWORD=swordfish", "swordfish"),
        ("secret.password", "password: hunter22", "hunter22"),
        ("secret.password", '{"password": "correct horse battery staple"}', "battery"),
        ("secret.password", '"{\\"password\\":\\"hunter22\\"}"', "hunter22"),
        ("secret.password", "Server=db;User Id=sa;Password=a1,b2!c3;", "a1,b2!c3"),
        ("secret.password", "SMTP_PASS=hunter22", "hunter22"),
        ("secret.token", f"//registry.example/:_authToken={R}", R),
        ("secret.header", f"X-Vault-Token: {R}", R),
        ("secret.key", f"AccountKey={R}==;EndpointSuffix=x", R),
        ("secret.header", f"X-Api-Key: {R}", R),
        ("secret.secret", f"client_secret => '{R}'", R),
        ("secret.key", f"SENDGRID_KEY={R}", R),
        ("secret.spoken", f"the signing key {R}", R),
        ("secret.random", f"use {R}{R}", R),
        ("path.private", "see /home/someone/notes/todo.md", "someone"),
        ("path.private", "C:\\Users\\Someone\\x.txt", "Someone"),
        ("path.private", "\\\\fileserver\\team\\x.txt", "fileserver"),
        ("path.private", "file:///Users/someone/x", "someone"),
        ("path.private", "open?f=%2Fhome%2Fsomeone%2Fx", "someone"),
        ("host.local", "ping nas.local now", "nas.local"),
        ("host.local", "ssh build.corp.example.internal", "build.corp"),
        ("ip.v4", "listening on 192.168.7.12:80", "192.168.7.12"),
        ("ip.v6", "fe80::1ff:fe23:4567:890a", "fe80"),
        ("mac.mac", "aa:bb:cc:dd:ee:0f", "dd:ee"),
        ("email.mail", "write to some.body@mail.example", "some.body"),
    ],
)
def test_each_class_is_hidden_by_its_own_rule(rule: str, text: str, secret: str) -> None:
    found = redact(text)
    assert secret not in found.text
    assert rule in found.rule_ids


@pytest.mark.parametrize(
    "text",
    [
        "password = os.environ['DB_PASSWORD']",
        "def login(user, password=None, token: str | None = None):",
        "if token == self.reset_url_token:",
        'SESSION_KEY = "_auth_user_id"',
        '"token": "refresh"',
        "PWD=/usr/src/app",
        "max_tokens=4096, token_count: 12",
        'cache_key="board:3f2504e0-4f89-11d3-9a0c-0305e82c3301"',
        "Authorization: required",
        "curl -u $USER:$PASS https://x.example",
        "https://{user}:{password}@host/",
        "docker run -u 1000:1000 x",
        "bearer authentication-scheme-description",
        "task-runner-with-a-long-name-and-more",
        "sk-fading-circle-container",
        "version 3.10.0.1, 0.0.0.0:8000 and 127.0.0.1",
        "https://github.com/home/user and /home and ~/notes",
        "/home/$USER/x /home/<name>/x",
        "if '-----BEGIN PRIVATE KEY-----' in text:",
        "the password is required here",
        "if options.local or metadata.internal:",
        "const usablePassword = (this.value === 'true');",
        "scheme://[user:passwd@]proxy.server:port",
        "index 3f2504e..9a0c030 100644",
        "static/css/main.8f3b2c1d9e7a.chunk.css and TestCaseForTheVeryLongClassName2",
    ],
)
def test_code_prose_and_placeholders_stay(text: str) -> None:
    assert redact(text).text == text


def test_paths_inside_the_project_become_relative_and_siblings_do_not() -> None:
    context = RedactionContext(project_root="/srv/code/proj", home="/srv/code")
    text = "/srv/code/proj/a.py /srv/code/proj /srv/code/proj/../proj/b.py /srv/code/proj-secret/c.py /srv/else/d"
    assert redact(text, context=context).text == "a.py . b.py [PATH] /srv/else/d"


def test_known_hosts_are_hidden_as_whole_names_only() -> None:
    context = RedactionContext(known_hosts=("orion",))
    assert redact("orion: up, orions and orion.example", context=context).text.startswith("[HOST:known]: up, orions")


def test_equal_values_are_recognisable_on_one_board_only() -> None:
    one, same, other = f"token={R}", f"again token={R}", f"token={R}z"
    board = RedactionContext(key=b"board one")
    assert redact(one, context=board).text == redact(same, context=board).text.removeprefix("again ")
    assert redact(one, context=board).text != redact(other, context=board).text
    assert redact(one, context=board).text != redact(one, context=RedactionContext(key=b"board two")).text
    assert redact(one).text == "token=[SECRET:token]"


def test_invisible_characters_are_stripped_before_matching() -> None:
    text = f"\x1b[1mgh\u200bp_\x1b[0m\u202e{R[:9]}\ufe0f\x08{R[9:]}\u202c\x1b]8;;http://x\x07"
    found = redact(text)
    assert found.text == "[TOKEN:github]"
    assert redact("plain\ttext\r\nstays \u00e9 \U0001f600").text == "plain\ttext\r\nstays \u00e9 \U0001f600"


def test_rule_ids_never_hold_the_value() -> None:
    assert R not in repr(redact(f"DB_PASSWORD={R} ghp_{R}").rule_ids)
