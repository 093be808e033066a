from tests.lamp import edit, lamp

__all__ = ["edit", "lamp"]
