"""Every address. Static files are WhiteNoise's; the websockets' are in `asgi.py`."""

from typing import Any

from django.urls import include, path

from agentlink_site import login
from agentlink_site.api import api

urlpatterns: list[Any] = [
    path("login", login.login, name="login"),
    path("logout", login.logout, name="logout"),
    path("api/agentlink/login-links", login.login_links, name="login-links"),
    path("api/agentlink/", api.urls),
    path("", include("boards.urls")),
]

handler400 = "agentlink_site.problems.bad_request"
handler403 = "agentlink_site.problems.forbidden"
handler404 = "agentlink_site.problems.not_found"
handler500 = "agentlink_site.problems.server_error"
