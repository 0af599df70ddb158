"""Django's entry for this app."""

from django.apps import AppConfig


class BoardsConfig(AppConfig):
    """Boards, contracts, tasks, messages, evidence and blockers."""

    name = "boards"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        """Has the proof read again before anything is called finished, whichever edge asks."""
        from boards import proof
        from boards.commands import execution

        execution.BEFORE.update(dict.fromkeys(("complete_task", "close_board"), proof.recheck_before_finish))
