"""Every address of the panel."""

from __future__ import annotations

from typing import Final

from django.urls import URLPattern, path
from django.views.generic import RedirectView

from boards.views import abroad, attach, commands, erase, pages, regions

urlpatterns: Final[list[URLPattern]] = [
    path("", pages.home, name="home"),
    path("regions/<str:name>", regions.home_region, name="home-region"),
    path("abroad/<str:board_id>/adopt", abroad.adopt, name="adopt"),
    path("boards/new", pages.new_board, name="new-board"),
    path("boards/<str:board_id>", RedirectView.as_view(pattern_name="board")),
    path("boards/<str:board_id>/", pages.board, name="board"),
    path("boards/<str:board_id>/regions/<str:name>", regions.board_region, name="board-region"),
    path("boards/<str:board_id>/do/<str:kind>", commands.do, name="do"),
    path("boards/<str:board_id>/reach", pages.reach, name="reach"),
    path("boards/<str:board_id>/messages", pages.older, name="older"),
    path("boards/<str:board_id>/messages/<str:message_id>", pages.message_text, name="message-text"),
    path("erase", erase.erase, name="erase-home"),
    path("boards/<str:board_id>/erase", erase.erase, name="erase"),
    path("boards/<str:board_id>/attach", attach.attach, name="attach"),
    path("boards/<str:board_id>/artifact", attach.artifact_content, name="artifact"),
]
