"""Django's entry for this app."""

from django.apps import AppConfig


class BoardsConfig(AppConfig):
    """Boards, contracts, tasks, messages, evidence and blockers."""

    name = "boards"
    default_auto_field = "django.db.models.BigAutoField"
