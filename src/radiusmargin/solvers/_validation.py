from .._checks import check_count

__all__ = ["check_count"]
