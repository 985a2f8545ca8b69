"""Import Matplotlib when something is drawn, not before."""


def pyplot():
    """Return `matplotlib.pyplot`; an ImportError says how to install it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("Plots need Matplotlib: pip install 'radiusmargin[experiments]'.") from error
    return plt
