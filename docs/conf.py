"""How the site is made of docs/, the docstrings and examples/gallery; `make docs` builds it, without a network."""

import sys
import tomllib
import warnings
from importlib.metadata import version as installed_version
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))

project = "radiusmargin"
author = "the radiusmargin developers"
copyright = author
release = version = installed_version("radiusmargin")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
    "mathml",
    "charts",
    "pages",
    "folding",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "_ext", "_generated/README*"]
suppress_warnings = ["config.cache"]  # the order of the gallery is a function, which has no pickle

# Formulas are MathML, which browsers draw themselves: no script from elsewhere.
html_math_renderer = "mathml"
myst_enable_extensions = ["attrs_block", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
highlight_language = "none"  # literal blocks are formulas and shell lines; examples say that they are Python
default_role = "py:obj"  # `FSVM` in a docstring is a link where there is such a page

autodoc_typehints = "none"  # numpydoc's tables have them
numpydoc_show_class_members = False  # the template lists them
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False
numpydoc_validation_checks = {"GL08", "PR02", "SS01"}  # a docstring, of parameters that exist, with a first line
numpydoc_validation_exclude = {r"\.[A-Z]\w*\.\w+$", r"\.(IDENTITY|RECIPES)$"}  # methods that others document; constants
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "remove_config_comments": True,
    "write_computation_times": False,
    "abort_on_example_error": True,
    "reset_modules": ("matplotlib",),
    "backreferences_dir": "api/examples",
    "doc_module": ("radiusmargin",),
    "default_thumb_file": str(HERE / "_static" / "logo.svg"),
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
}
warnings.filterwarnings("ignore", "FigureCanvasAgg is non-interactive", UserWarning)

html_theme = "pydata_sphinx_theme"
html_title = "radiusmargin"
html_logo = "_static/logo.svg"
html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
ALONE = (
    "index",
    "getting_started",
    "benchmarks",
    "coming_from",
    "faq",
    "comparison",
    "changelog",
    "contributing",
    "citing",
)
html_sidebars = {name: [] for name in ALONE}  # pages without others under them
html_theme_options = {
    "logo": {"text": "radiusmargin"},
    "navbar_align": "left",
    "header_links_before_dropdown": 5,
    "show_toc_level": 2,
    "navigation_with_keys": False,
    "use_edit_page_button": False,
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}

# `Repository` in [project.urls] of pyproject.toml is all that a maintainer fills in: pages then link to their source for
# editing, and the version switcher reads _static/switcher.json of the site (GitHub Pages of that repository).
urls = tomllib.loads((HERE.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"].get("urls", {})
if "Repository" in urls:
    owner, repository = urls["Repository"].rstrip("/").split("/")[-2:]
    html_baseurl = urls.get("Documentation", f"https://{owner}.github.io/{repository}/")
    html_context = {"github_user": owner, "github_repo": repository, "github_version": "main", "doc_path": "docs"}
    html_theme_options |= {
        "github_url": urls["Repository"],
        "use_edit_page_button": True,
        "check_switcher": False,
        "switcher": {"json_url": f"{html_baseurl}_static/switcher.json", "version_match": version},
        "navbar_end": ["version-switcher", "theme-switcher", "navbar-icon-links"],
    }
