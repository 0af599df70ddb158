"""Which tests prove each row of the table of threats; a test that does not exist fails here."""

from __future__ import annotations

from typing import Final

from tests.tables import missing

GUARD, LIMITS, LOGIN, SOCKET = (
    "site/test_guard.py",
    "site/test_limits.py",
    "site/test_login.py",
    "site/test_websocket.py",
)
NETWORK, OTHER, OWN = "threats/test_network.py", "threats/test_other_user.py", "threats/test_own_files.py"
TEXTS, HOSTILE, PAGES = "threats/test_texts.py", "browser/test_hostile.py", "boards/test_pages_text.py"
FILES, CLI = "evidence/test_files.py", "site/test_cli_hostile.py"

THREATS: Final[dict[str, list[str]]] = {
    "DNS rebinding": [
        f"{GUARD}::test_a_rebound_name_is_refused_on_every_address",
        f"{GUARD}::test_only_the_exact_names_with_our_port_are_served",
        f"{GUARD}::test_requests_with_an_unclear_target_are_malformed",
        f"{GUARD}::test_a_foreign_host_is_refused_on_the_unix_socket_too",
        f"{NETWORK}::test_addresses_that_are_not_there_check_host_and_login_like_all_others",
    ],
    "bind address": [
        f"{NETWORK}::test_it_listens_on_loopback_only_whatever_is_asked",
        "site/test_lifecycle.py::test_an_address_of_the_network_is_refused",
    ],
    "forged requests of other sites": [
        f"{GUARD}::test_a_changing_request_of_another_origin_is_refused",
        f"{GUARD}::test_a_changing_request_without_origin_needs_more_than_a_cookie",
        f"{GUARD}::test_json_routes_take_nothing_but_json",
        f"{NETWORK}::test_a_form_of_another_origin_that_holds_json_as_text_changes_nothing",
        f"{NETWORK}::test_no_get_changes_anything",
    ],
    "websockets of other sites": [
        f"{SOCKET}::test_another_origin_is_refused_before_accept",
        f"{SOCKET}::test_without_a_session_even_our_own_origin_is_refused",
        f"{SOCKET}::test_a_socket_closes_when_its_session_ends",
    ],
    "cross-origin reading": [
        f"{GUARD}::test_a_preflight_gets_no_permission",
        f"{NETWORK}::test_no_other_origin_is_ever_told_that_it_may_read",
    ],
    "cookies of several ports": [
        f"{LOGIN}::test_two_instances_do_not_share_their_cookies",
        f"{LOGIN}::test_the_button_logs_in_and_leads_to_a_clean_address",
    ],
    "a login code that leaks": [
        f"{LOGIN}::test_a_code_logs_in_once",
        f"{LOGIN}::test_the_code_is_in_no_command_line_and_in_no_log",
        f"{LOGIN}::test_the_browser_is_sent_by_a_private_file_and_not_by_its_command_line",
        f"{LOGIN}::test_ten_wrong_codes_lock_every_code_that_is_out",
        f"{NETWORK}::test_ten_wrong_codes_lock_the_door_until_the_person_asks_for_a_new_link",
        f"{NETWORK}::test_a_code_or_token_in_an_address_is_in_no_log",
        "threats/test_browser.py::test_the_login_code_is_in_no_history_and_no_referer",
    ],
    "tokens": [
        f"{GUARD}::test_a_token_that_is_not_valid_is_refused_even_with_a_good_cookie",
        f"{NETWORK}::test_a_token_that_is_not_the_exact_one_opens_nothing",
        f"{NETWORK}::test_scopes_that_a_client_declares_are_not_believed",
        f"{GUARD}::test_a_token_in_the_address_is_no_token",
    ],
    "framing": [
        f"{GUARD}::test_every_answer_carries_the_golden_headers",
        f"{GUARD}::test_what_is_not_http_gets_a_sentence_with_every_header",
    ],
    "scripts in what agents write": [
        f"{HOSTILE}::test_what_arrives_live_is_text",
        f"{HOSTILE}::test_every_view_shows_it_as_text",
        f"{PAGES}::test_what_agents_write_adds_no_element_and_no_attribute",
        f"{PAGES}::test_a_template_is_short_and_has_nothing_that_the_policy_forbids",
    ],
    "attributes of htmx": [
        f"{HOSTILE}::test_what_arrives_live_is_text",
        f"{PAGES}::test_agents_text_is_out_of_reach_of_htmx",
    ],
    "out-of-band swaps": [f"{HOSTILE}::test_what_arrives_live_is_text"],
    "markdown": [
        f"{TEXTS}::test_there_is_no_markdown_so_nothing_of_it_is_a_link_or_a_picture",
        "threats/test_browser.py::test_what_looks_like_markdown_asks_nobody_for_anything",
    ],
    "content security policy": [
        f"{GUARD}::test_the_golden_policy_is_the_one_in_the_code",
        "threats/test_browser.py::test_a_script_that_gets_into_the_page_does_not_run_and_is_reported",
    ],
    "previews of artifacts": [
        "evidence/test_previews.py::test_images_are_known_by_their_first_bytes",
        "evidence/test_previews.py::test_html_and_svg_are_source_text_whatever_their_name",
        "boards/test_pages_attach.py::test_artifact_bytes_are_served_sandboxed_and_only_of_members",
        f"{HOSTILE}::test_a_hostile_artifact_is_shown_as_its_source",
    ],
    "paths and links": [
        f"{FILES}::test_what_is_not_one_file_below_the_root_is_refused",
        f"{FILES}::test_links_to_files_and_through_folders_are_refused",
        f"{FILES}::test_a_file_swapped_for_a_link_is_never_followed",
        f"{FILES}::test_a_hard_link_is_refused",
        f"{FILES}::test_a_fifo_is_refused_without_waiting_for_a_writer",
        f"{FILES}::test_a_device_is_refused",
        f"{FILES}::test_on_windows_names_that_mean_something_else_are_refused",
    ],
    "archive bombs": [
        "threats/test_archives.py::test_an_archive_is_a_file_with_a_hash_and_nothing_in_it_is_looked_at",
        "threats/test_archives.py::test_no_part_of_the_program_can_unpack_anything",
    ],
    "terminals": [
        f"{CLI}::test_hostile_text_in_a_terminal_is_golden",
        f"{CLI}::test_nothing_that_agents_wrote_reaches_the_terminal_as_a_control",
        f"{CLI}::test_json_in_a_terminal_is_escaped",
    ],
    "invisible and turning signs": [
        f"{TEXTS}::test_invisible_signs_are_named_and_the_visible_name_is_found",
        f"{PAGES}::test_invisible_characters_get_a_name_and_visible_ones_stay",
        f"{CLI}::test_the_terminal_and_the_panel_name_the_same_characters",
    ],
    "look-alike names": [
        f"{TEXTS}::test_a_look_alike_is_no_id_and_no_name",
        f"{TEXTS}::test_a_name_that_looks_like_anothers_is_a_conflict_that_names_it",
    ],
    "injected instructions": [
        f"{TEXTS}::test_what_a_peer_writes_stays_inside_its_envelope_and_changes_nothing",
        f"{TEXTS}::test_the_fence_is_another_one_for_every_message_and_reader",
        "boards/test_commands.py::test_limits_are_sentences_that_say_the_limit",
        "boards/test_commands.py::test_a_chain_of_replies_between_agents_ends_by_itself",
    ],
    "false completion": [
        "reports/test_work.py::test_a_task_is_done_by_proof_and_never_by_saying_so",
        "boards/test_finish.py::test_a_file_that_was_harmed_after_its_check_does_not_finish_a_task",
    ],
    "injected lines of a log": [
        f"{TEXTS}::test_one_record_is_one_ascii_line_and_comes_back_equal",
        f"{TEXTS}::test_what_is_stored_of_a_field_is_one_line_of_the_log",
        "peers/test_delivery.py::test_any_content_is_one_ascii_line_and_comes_back_equal",
    ],
    "too large, too deep, too many": [
        f"{LIMITS}::test_a_body_that_says_it_is_too_large_is_refused_before_it_is_sent",
        f"{LIMITS}::test_an_endless_chunked_body_is_refused_by_count",
        f"{SOCKET}::test_a_frame_over_64_kilobytes_ends_the_socket",
        f"{NETWORK}::test_a_body_that_is_too_much_is_refused_with_a_sentence",
        f"{NETWORK}::test_bodies_that_are_too_much_leave_no_memory_behind",
        f"{NETWORK}::test_a_packed_body_is_refused_unread",
        f"{NETWORK}::test_a_header_that_is_there_twice_is_never_half_believed",
        "threats/test_rates.py::test_a_node_that_asks_too_often_is_told_when_to_come_back_and_hurts_nobody_else",
        "boards/test_edit_and_hand_over.py::test_a_full_board_says_its_limit",
    ],
    "stalled connections": [
        "threats/test_stalled.py::test_stalled_connections_of_every_kind_are_closed_while_others_are_answered",
        f"{LIMITS}::test_stalled_connections_are_dropped_while_others_are_answered",
    ],
    "other users of the machine": [
        f"{OTHER}::test_no_file_no_answer_and_no_socket_for_another_user",
        f"{OTHER}::test_a_socket_that_is_open_to_all_still_asks_who_comes",
        f"{OTHER}::test_who_takes_the_port_of_a_dead_server_is_told_nothing",
        f"{OTHER}::test_who_listens_in_the_place_of_our_socket_is_told_nothing",
    ],
    "modes and planted links": [
        f"{OWN}::test_no_file_of_a_whole_days_work_can_be_read_by_others",
        f"{OWN}::test_a_planted_link_at_any_place_of_ours_is_refused_and_not_written_through",
        f"{OWN}::test_a_link_in_the_place_of_a_token_is_replaced_and_not_followed",
        "site/test_config.py::test_a_home_of_another_user_is_refused",
        "site/test_doctor.py::test_an_open_agintiflow_folder_is_a_warning_and_stays_as_it_is",
    ],
    "other systems": [f"{FILES}::test_on_windows_names_that_mean_something_else_are_refused"],
    "hostile repositories": [f"{OWN}::test_a_pointer_in_a_project_is_ignored_whole"],
    "addresses for the opener": [
        f"{NETWORK}::test_nothing_but_our_own_login_link_is_ever_opened_outside",
        f"{HOSTILE}::test_every_view_shows_it_as_text",
    ],
    "requests by the server": [
        "evidence/test_check_urls.py::test_another_machine_is_never_asked_and_proves_nothing_by_itself",
        "evidence/test_check_urls.py::test_a_redirect_to_a_metadata_service_is_rejected",
        "evidence/test_check_urls.py::test_a_port_is_required_and_system_ports_are_refused",
        "evidence/test_check_urls.py::test_any_other_spelling_is_rejected_without_a_connection",
    ],
    "assets": [
        f"{NETWORK}::test_the_login_page_needs_nothing_but_its_own_looks",
        "browser/test_journey.py::test_from_the_login_link_to_the_final_report",
    ],
    "a leaked text": [
        "threats/test_erased_payload.py::test_an_erased_text_is_in_no_byte_of_the_home_and_the_log_still_verifies"
    ],
}  # fmt: skip
"""By threat. Where a part is not built (MCP, A2A, project pointer, listings of archives, Markdown, cards of peers) the
tests hold what is true without it: nothing answers there, nothing is read, unpacked, rendered or followed."""


def test_every_threat_has_its_tests() -> None:
    assert missing(THREATS) == []


def test_a_test_that_is_not_there_is_missed() -> None:
    """The checker is checked."""
    assert missing({"none": [], "gone": ["threats/test_table.py::test_gone", "none.py::test_x"]}) == [
        "none: no test",
        "gone: threats/test_table.py::test_gone",
        "gone: none.py::test_x",
    ]
