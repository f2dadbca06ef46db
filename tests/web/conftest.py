from tests.web.browser import browser, look
from tests.web.demo import demo_site
from tests.web.stage import stage, staged

__all__ = ["browser", "demo_site", "look", "stage", "staged"]
