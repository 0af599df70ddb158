"""Programs that write through the client of a home, as other processes do."""

BEFORE = """
import sys
from agentlink_site.client import call
board, *nodes = sys.argv[1:]
for number in range(12):
    wish = {"boardId": board, "objective": f"contract {number} of before", "owners": {nodes[0]: ["x"]}}
    wish |= {"contractId": f"{board}-{number}", "allowedActions": ["look at x"]}
    answer = call("POST", "/commands", {"command": "propose_contract", **wish})
    assert answer[0] < 300, answer[2]
for number in range(12):
    wish = {"boardId": board, "to": [nodes[1]], "type": "status_response", "content": f"note {number} of before"}
    answer = call("POST", "/commands", {"command": "send_message", **wish}, node=nodes[5])
    assert answer[0] < 300, answer[2]
"""
"""Enough on a board that it has to be scrolled."""

SIXTY = """
import sys
from agentlink_site.client import call
board, *nodes = sys.argv[1:]
for number in range(1, 61):
    node, other = nodes[number % 5], nodes[(number + 1) % 5]
    say = {"command": "send_message", "to": [other], "type": "status_response", "content": f"note {number} of sixty"}
    about = {"contractId": f"{board}-0"}
    wishes = {
        1: {"command": "propose_contract", "objective": f"contract {number} of sixty", "owners": {other: ["x"]}},
        2: {**about, "summary": f"proof {number}", "url": "https://elsewhere.invalid/proof"},
        3: {"command": "open_blocker", **about, "summary": f"blocker {number} of sixty"},
    }
    wish = wishes.get(number % 10, say)
    path, more = ("/commands", {"boardId": board}) if "command" in wish else (f"/boards/{board}/evidence", {})
    answer = call("POST", path, wish | more, node=node)
    assert answer[0] < 300, answer[2]
"""
"""Sixty commands by five nodes: messages, contracts, evidence and blockers."""
