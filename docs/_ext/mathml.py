"""Formulas as MathML, by docutils' own converter: no script, no image, no LaTeX."""

from docutils.nodes import SkipNode
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def _mathml(node, *, as_block):
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        logger.warning("formula without MathML: %s", error, location=node)
        return node.astext()


def inline(translator, node):
    translator.body.append(_mathml(node, as_block=False))
    raise SkipNode


def block(translator, node):
    translator.body.append(f'<div class="formula">{_mathml(node, as_block=True)}</div>\n')
    raise SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
