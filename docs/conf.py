"""The site: `make docs` builds it in docs/_build/html."""

import os
import sys
from pathlib import Path

os.environ.setdefault("MPLBACKEND", "Agg")

import fbtwsvm

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "fbtwsvm"
author = "The fbtwsvm developers"
copyright = author
version = release = fbtwsvm.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "run_snippets",
    "command_reference",
]
exclude_patterns = ["_build", "gallery/*.md5", "gallery/*.json", "**/sg_execution_times.rst", "sg_execution_times.rst"]
templates_path = ["_templates"]
default_role = "code"
highlight_language = "text"
nitpicky = False
show_warning_types = True

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_validation_checks: set[str] = set()
add_module_names = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "ignore_pattern": r"__init__|dask_streams",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": ("_repr_html_",),
    "remove_config_comments": True,
    "min_reported_time": 1e9,
    "doc_module": ("fbtwsvm",),
    "backreferences_dir": "gallery/backreferences",
    "plot_gallery": True,
    "nested_sections": False,
    "within_subsection_order": "gallery_order.GalleryOrder",
    "thumbnail_size": (640, 320),
}

html_theme = "pydata_sphinx_theme"
html_title = f"fbtwsvm {version}"
html_static_path = ["_static"]
html_favicon = "_static/logo.svg"
html_css_files = ["site.css"]
html_extra_path = ["llms.txt"]
html_show_sourcelink = False
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system is
html_theme_options = {
    "logo": {"text": "fbtwsvm", "image_light": "_static/logo.svg", "image_dark": "_static/logo.svg"},
    "show_toc_level": 2,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "use_edit_page_button": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"index": [], "start": [], "choosing": []}
