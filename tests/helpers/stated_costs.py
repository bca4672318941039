"""The costs of copies by the default profile."""

from swath import _core
from swath.copying.costs import Costs

COSTS = Costs.of({**_core.default_profile().to_dict(), "source": "stated defaults"})
