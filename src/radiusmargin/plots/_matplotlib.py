"""Matplotlib, asked for only when something is drawn."""


def pyplot():
    """`matplotlib.pyplot`, or an error that says how to get it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need Matplotlib: pip install 'radiusmargin[experiments]'.") from error
    return plt
