"""Formulas as MathML, which browsers render by themselves: the site needs no script from elsewhere."""

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def visit_inline(translator, node):
    translator.body.append(tex2mathml(node.astext()))
    raise nodes.SkipNode


def visit_block(translator, node):
    translator.body.append(f'<div class="math" id="{"".join(node["ids"][:1])}">' if node["ids"] else "<div>")
    translator.body.append(tex2mathml(node.astext(), as_block=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
