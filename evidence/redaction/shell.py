"""Tier 2: secrets on command lines and in the files that commands read."""

from __future__ import annotations

from evidence.redaction.engine import Scope, hints, pattern
from evidence.redaction.judges import (
    is_flag,
    is_given,
    is_piped,
    is_setting,
    is_spoken,
)
from evidence.redaction.keys import (
    SUFFIX,
    WORD,
    words,
)
from evidence.redaction.rows import Structure, hide_rows

COMMANDS: tuple[Structure, ...] = (
    Structure(
        "curl-user",
        hints(b"curl", b"http ", b"https ", b"skopeo", b"wget"),
        pattern(
            r"(\b(?:curl|https?|xh|wget|skopeo)\b[^\n]*?\s(?:-u|-U|-a|--user|--proxy-user|--auth|--creds|--src-creds"
            r"|--dest-creds)"
            r"[ =]?[\"']?[^\s:\"'/]+:)([^\s\"'/][^\s\"']*)",
        ),
        is_given,
    ),
    Structure(
        "netrc",
        hints(b"login", b"password"),
        pattern(r"(\blogin\s+\S+\s+(?:account\s+\S+\s+)?password\s+[\"']?)([^\s\"']+)"),
        is_spoken,
    ),
    Structure(
        "pgpass",
        hints(b":*:", b":54", b":64", b"pgpass"),
        pattern(r"((?:^|[\s\"'])(?:[A-Za-z0-9.-]+|\*|\[PATH\]):(?:[0-9]{2,5}"
            r"|\*):[A-Za-z0-9_*-]+:[A-Za-z0-9_*.-]+:)([^\s\"':]{4,})"),
        is_given,
    ),
    Structure(
        "flag",
        hints(b" -", b"\t-", b"\n-"),
        pattern(
            r"(\s-{1,2}(?:[a-z0-9]+[-_.])*(?:[a-z]{0,10}password|passwd|passphrase|passcode|pass|pwd|token|secret"
            r"|api-?key|access-?key|secret-?key|secret-?string"
            r"|private-?key|auth-?key|client-?key|storepass|keypass|pw)(?:[ \t]+|=|:)[\"']?)"
            r"([^\s\"'`;|&<>-][^\s\"'`;|&<>]*)",
            case=False,
        ),
        is_spoken,
    ),
    Structure(
        "flag",
        hints(b" -", b"/p:"),
        pattern(
            r"(\b(?:"
            r"sshpass\b[^\n|;]*?\s-p"
            r"|(?:docker|podman|nerdctl|helm|oras|az|oc|crane|buildah|snap|fly|heroku|cf|ibmcloud|argocd"
            r"|rancher)\b[^\n|;&]*\blogin\b"
            r"[^\n|;&]*?\s-p"
            r"|(?:mysql|mariadb)[a-z]*\b[^\n|;&]*?\s-p"
            r"|(?:mongo|mongosh|mongodump|mongorestore|twine|sqlcmd|bcp|psftp|pscp|plink|hydra|ncrack|7z|7za|rar"
            r"|unrar|zip|unzip"
            r"|mosquitto_pub|mosquitto_sub|smbmap|crackmapexec|nxc|evil-winrm|impacket-[a-z]+|rabbitmqadmin|etcdctl"
            r"|influx|cqlsh|vncdotool)\b"
            r"[^\n|;&]*?\s-[pPw]w?"
            r"|(?:redis-cli|keydb-cli|valkey-cli)\b[^\n|;&]*?\s-a"
            r"|(?:ldapsearch|ldapadd|ldapmodify|ldapwhoami|ldappasswd|ldapdelete|radtest|sesearch)\b[^\n|;&]*?\s-w"
            r"|openssl\b[^\n|;&]*?\s-[kK]"
            r"|ssh-keygen\b[^\n|;&]*?\s-[NP]"
            r"|nuget\b[^\n|;&]*?\s-(?:k|apikey)"
            r"|(?:useradd|usermod)\b[^\n|;&]*?\s-p"
            r"|ipmitool\b[^\n|;&]*?\s-P"
            r"|snmp[a-z]+\b[^\n|;&]*?\s-[cAX]"
            r"|xfreerdp\b[^\n|;&]*?\s/p:"
            r")[ =]?[\"']?)([^\s\"'/-][^\s\"']*)",
        ),
        is_flag,
    ),
    Structure("flag", hints(b"pass:"), pattern(r"(\spass:)([^\s\"']+)"), is_given),
    Structure("flag", hints(b"/user:"), pattern(r"(?i)(/user:\S+[ \t]+)([^\s\"'/][^\s\"']*)"), is_spoken),
    Structure("flag", hints(b"%"), pattern(
        r"(\b(?:smbclient|rpcclient|net|smbget|mount\.cifs)\b[^\n|;&]*?\s-U[ ]?[\"']?[^\s%\"']+%)"
        r"([^\s\"']+)"), is_given),
    Structure("flag", hints(b"passwd", b"wpa_"), pattern(
        r"(\b(?:htpasswd\s+-[a-zA-Z]*b[a-zA-Z]*\s+\S+\s+\S+\s+"
        r"|htpasswd\s+-[a-zA-Z]*n[a-zA-Z]*\s+\S+\s+|wpa_passphrase\s+\S+\s+)[\"']?)([^\s\"'|<>-][^\s\"']*)"), is_given),
    Structure(
        "stdin",
        hints(b"echo", b"printf"),
        pattern(
            r"(\b(?:echo|printf)[ \t]+(?:-[neE]+[ \t]+)?(?:[\"']?%s(?:\\n)?[\"']?[ \t]+)?[\"']?(?:[A-Za-z0-9._-]+:)?)"
            r"([^\s\"'|]+)[\"']?[ \t]*\|[ \t]*(?:\S+[ \t]+){0,3}?"
            r"(?:sudo[^\n]*-S|su\b|chpasswd|passwd|[^\n|]*(?:stdin|--with-token)|(?:gh|wrangler|fly|docker|podman"
            r"|vercel|op|pass)\b[^\n|]*\b(?:secrets?|insert|env)\b|kinit|cryptsetup|openssl|gpg|base64)",
        ),
        is_piped,
    ),
    Structure(
        "env",
        WORD,
        pattern(
            rf"(\b(?:setx|setenv|ENV|ARG|set[ \t]+-[a-zA-Z]+|config(?:[ \t]+--?[a-z]+)*(?:[ \t]+set)?"
            rf"|configure[ \t]+set"
            rf"|secrets?[ \t]+(?:set|put|add|create)|(?:vars?|variables?|env)[ \t]+(?:set|add|put))[ \t]+"
            rf"[\w./:-]*(?:{words()}){SUFFIX}[\"']?[ \t]+[\"']?)([^\s\"'=-][^\s\"']*)",
            case=False,
        ),
        is_setting,
    ),
    Structure("env", hints(b"requirepass", b"masterauth", b" login", b"obscure"), pattern(
        r"(\b(?:requirepass|masterauth|cargo login|vault login"
        r"|rclone obscure)[ \t]+[\"']?)([^\s\"'-][^\s\"']*)"), is_spoken),
)  # fmt: skip


def hide_commands(text: bytes, scope: Scope) -> bytes:
    """Replace the secret of each command of the table."""
    return hide_rows(COMMANDS, text, scope)
