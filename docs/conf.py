"""Configuration of the documentation site: sphinx-build -W docs docs/_build."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import generate
import mathml
import method_pages

import eigenbench

# Pages made from the code and the suites, so that they cannot disagree.
generate.write_pages(Path(__file__).parent)
method_pages.write(Path(__file__).parent)

project = "eigenbench"
author = "the eigenbench developers"
copyright = author
release = version = eigenbench.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates", "generated/*.md", "examples"]
templates_path = ["_templates"]
default_role = "py:obj"
nitpicky = False

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "backreferences_dir": "generated/backreferences",
    "doc_module": ("eigenbench",),
    "reference_url": {"eigenbench": None},
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "eigenbench"
html_theme_options = {
    "header_links_before_dropdown": 6,
    # Buttons that unfold the sections would have no name.
    "collapse_navigation": True,
    "navbar_persistent": ["search-button"],
    "footer_start": ["copyright"],
    "footer_end": ["theme-version"],
    "show_prev_next": True,
}
# These have no section to list, or one so deep that it needs the buttons.
html_sidebars = {name: [] for name in ("index", "genindex", "search", "reference/*", "auto_examples/*")}
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_math_renderer = "mathml"


def skip_inherited(app, what, name, obj, skip, options):
    """Leave out what scikit-learn's base classes add to every estimator: its own site explains it."""
    routing = name.startswith("set_") and name.endswith("_request")
    inherited = str(getattr(obj, "__module__", "")).startswith("sklearn")
    return skip or routing or inherited


def name_references(app, pagename, templatename, context, doctree):
    """Make references the items of their list: the role that docutils gives them was taken out of ARIA."""
    if "body" in context:
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')


def setup(app):
    """Tell Sphinx of the formulas, of what to leave out and of what to correct."""
    mathml.setup(app)
    app.connect("html-page-context", name_references)
    # Before numpydoc reads the docstring.
    app.connect("autodoc-process-docstring", method_pages.insert, priority=100)
    app.connect("autodoc-skip-member", skip_inherited)
