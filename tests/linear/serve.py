"""`agentlink` by the shared clock, for clients that ask more often than anybody may."""

import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "agentlink_site.settings")

from tests.linear import clock

clock.install()

from agentlink_site import rates  # noqa: E402
from agentlink_site.cli import main  # noqa: E402

rates.RATES.update(dict.fromkeys(rates.RATES, rates.Rate(10**6, 10**6)))
main()
