from tests.web.stage import stage, staged

__all__ = ["stage", "staged"]
