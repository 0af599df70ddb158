"""Which tests hold each rule; what is not built yet stands below with what is true today."""

from __future__ import annotations

from typing import Final

import pytest

from boards import words
from boards.schemas import COMMANDS
from tests.people import board, done, people
from tests.tables import missing

MESSAGES, WORK, PROCESSES = "reports/test_messages.py", "reports/test_work.py", "reports/test_processes.py"
THREATS = "threats/test_network.py"

RULES: Final[dict[str, list[str]]] = {
    "a typo names nobody": [
        f"{MESSAGES}::test_a_typo_names_nobody_and_stores_nothing",
        f"{PROCESSES}::test_a_misspelt_peer_ends_the_command_with_a_status_and_the_nearest_name",
    ],
    "a receipt says no more than what happened": [f"{MESSAGES}::test_a_receipt_never_says_more_than_what_happened"],
    "who dies after fetching has not read": [
        f"{MESSAGES}::test_who_takes_mail_and_dies_has_not_read_it",
        f"{MESSAGES}::test_a_worker_that_died_with_a_copy_in_hand_gives_it_back",
    ],
    "listing changes nothing": [
        f"{MESSAGES}::test_listing_twice_lists_the_same_and_changes_nothing",
        "site/test_api_routes.py::test_looking_at_the_inbox_changes_nothing",
    ],
    "mail belongs to the node": [f"{MESSAGES}::test_mail_belongs_to_the_node_and_waits_for_its_next_run"],
    "an idle peer": [f"{MESSAGES}::test_mail_to_an_idle_peer_says_what_would_make_it_read"],
    "a long turn": [
        "boards/test_delivery.py::test_how_a_peer_is_reached_is_known_before_sending",
        "boards/test_pages.py::test_the_composer_says_how_a_peer_is_reached_before_anything_is_sent",
    ],
    "killed between commit and reply": [
        f"{PROCESSES}::test_a_wish_whose_answer_was_lost_is_done_once_even_when_the_server_died",
        "site/test_cli.py::test_a_lost_answer_is_asked_for_again_with_the_same_key_and_done_once",
    ],
    "a watcher that restarts": [f"{MESSAGES}::test_a_watcher_that_restarts_goes_on_where_it_was"],
    "claims that race": [
        f"{PROCESSES}::test_of_twenty_claims_at_once_exactly_one_is_applied_and_the_others_learn_who_and_since_when",
        "site/test_cli.py::test_of_twenty_claims_exactly_one_wins_and_the_others_learn_who",
        "site/test_cli.py::test_the_checker_of_claims_goes_red_on_a_planted_fault",
    ],
    "resources that overlap": [
        f"{WORK}::test_a_resource_that_is_held_elsewhere_is_denied_and_its_holder_is_named",
        "boards/test_resources.py::test_resources_overlap_by_name_path_or_pattern",
    ],
    "a lease to its last moment": [f"{WORK}::test_a_lease_is_active_to_its_last_moment_and_its_end_is_an_event"],
    "a killed owner": [f"{WORK}::test_who_was_killed_holds_a_task_no_longer_than_its_lease_and_stays_in_its_history"],
    "a closed terminal": [
        "peers/test_reading.py::test_a_pid_that_was_given_to_a_younger_process_proves_nothing",
        "peers/test_reading.py::test_no_process_no_proof",
        "peers/test_presence.py::test_time_alone_makes_a_running_session_stale",
    ],
    "a name that is taken": [
        f"{WORK}::test_a_second_session_cannot_take_a_name_or_a_node",
        "boards/test_commands.py::test_nobody_takes_the_mail_of_a_session_by_calling_itself_like_it",
    ],
    "a second server": [f"{PROCESSES}::test_a_second_server_says_where_the_first_one_is_and_damages_nothing"],
    "hostile text and foreign requests": [
        "browser/test_hostile.py::test_what_arrives_live_is_text",
        f"{THREATS}::test_a_form_of_another_origin_that_holds_json_as_text_changes_nothing",
    ],
    "keys in a text": [
        f"{WORK}::test_a_key_in_a_text_is_masked_before_anything_is_stored",
        f"{WORK}::test_no_token_is_in_an_address_or_an_argument",
        "site/test_cli.py::test_secrets_are_in_no_argument_list_output_or_log",
    ],
    "done without proof": [
        f"{WORK}::test_a_task_is_done_by_proof_and_never_by_saying_so",
        "boards/test_finish.py::test_a_file_older_than_the_claim_does_not_finish_it_even_when_attached_before",
    ],
    "a text over the cap": [
        f"{MESSAGES}::test_a_text_over_what_a_session_takes_is_kept_whole_and_announced_with_length_and_hash"
    ],
    "ten thousand unread": [
        f"{MESSAGES}::test_ten_thousand_unread_are_a_bounded_page_and_the_newest_urgent_one_is_first"
    ],
    "clocks that differ": [f"{MESSAGES}::test_the_servers_clock_decides_whatever_a_sessions_clock_says"],
}  # fmt: skip


def test_every_rule_has_its_tests() -> None:
    assert missing(RULES) == []


# --- what is not built yet, and what is true today ------------------------------------------------------------------


@pytest.mark.django_db
def test_there_are_no_approvals_yet_so_a_granted_permission_grants_nothing() -> None:
    assert not {"request_permission", "decide_permission"} & set(COMMANDS)
    who = people()
    board_id = board(who)
    done("send_message", who.alice, board_id=board_id, to=["bob"], content="may I?", type="permission_request")
    done("send_message", who.bob, board_id=board_id, to=["alice"], content="yes", type="permission_granted")
    assert "permission_request" in words.REQUIRES_ACK, "it waits in sight of whom it was sent to"


@pytest.mark.django_db
def test_a_lost_secret_is_replaced_without_a_new_identity(settings: object) -> None:
    """There is no command for it yet; the node keeps its id and its mail, and the old secret ends."""
    from peers import trust

    who = people()
    board_id = board(who)
    done("send_message", who.bob, board_id=board_id, to=["alice"], content="kept")
    old = trust.issue("alice")
    new = trust.issue("alice")
    assert (trust.verify(old), trust.verify(new)) == (None, "alice")


def test_nothing_is_hooked_into_sessions_that_did_not_ask() -> None:
    """There are no hooks: no command and no setting writes into another tool's configuration."""
    from agentlink_site.config import Config

    assert not [name for name in Config.model_fields if "hook" in name]
    assert not [name for name in COMMANDS if "hook" in name]
