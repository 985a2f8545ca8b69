"""Long tables of the pages of measurements are folded: a line says what is in them, a click opens them."""

from docutils import nodes

PAGES = {"benchmarks", "reproduction", "transformations", "faces"}
LEAST_ROWS = 6


def fold(app, doctree):
    """Put every long table between the tags of a folded element; other formats than HTML show it as it is."""
    if app.env.docname not in PAGES:
        return
    for table in list(doctree.findall(nodes.table)):
        body = next(table.findall(nodes.tbody))
        if len(body.children) < LEAST_ROWS:
            continue
        head = [entry.astext().strip() for entry in next(table.findall(nodes.thead)).findall(nodes.entry)]
        shown = ", ".join(title for title in head if title)
        summary = f"{len(body.children)} rows: {shown if len(shown) < 90 else shown[:87] + '…'}"
        for tag, place in (
            (_raw(f'<details class="folded"><summary>{_escaped(summary)}</summary>'), 0),
            (_raw("</details>"), 1),
        ):
            table.parent.insert(table.parent.index(table) + place, tag)


def _raw(html):
    return nodes.raw("", html, format="html")


def _escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;")


def setup(app):
    app.connect("doctree-read", fold)
    return {"parallel_read_safe": True}
