"""Sphinx's settings for the site. Everything that a page loads is part of the site."""

from pathlib import Path

from course_lib import __version__
from course_lib.runtime import PROJECT_ROOT
from tools.authoring.single_file import repository

STATIC = Path(PROJECT_ROOT, "tools", "site", "static")  # build.py completes these files

project = "The attention course"
root_doc = "course"  # index.html is the page that live.py makes
version = release = __version__
extensions = ["myst_nb"]

nb_execution_mode = "off"  # the notebooks have been run by `course_lib build`
nb_ipywidgets_js = {}  # no scripts from elsewhere
nb_render_markdown_format = "myst"  # resolves links in outputs too
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
myst_disable_syntax = ["myst_role", "myst_line_comment", "myst_block_break", "myst_target"]

mathjax_path = "../mathjax/tex-svg-full.js"  # relative to _static
mathjax3_config = {"options": {"enableMenu": False}}  # the menu would load more from elsewhere

html_theme = "sphinx_book_theme"
html_favicon = "static/icon.svg"
html_context = {"default_mode": "auto"}
html_title = project
html_css_files = sorted(path.name for path in STATIC.glob("*.css"))
html_js_files = [(path.name, {"defer": "defer"}) for path in sorted(STATIC.glob("*.js"))]
html_use_index = html_copy_source = html_show_copyright = html_show_sphinx = False
html_theme_options = {
    "home_page_in_toc": True,
    "use_download_button": False,
    "use_fullscreen_button": False,
    "repository_url": repository(PROJECT_ROOT),
    "use_repository_button": bool(repository(PROJECT_ROOT)),
    "footer_content_items": ["extra-footer.html"],
    "extra_footer": f"Version {__version__}. Text, figures and quizzes: CC BY 4.0. Code: BSD-3-Clause.",
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}


def setup(app) -> None:
    """The course's name in the sidebar leads to the page that Sphinx doesn't know."""

    def name_leads_home(_app, _page, _template, context, _doctree) -> None:
        context["theme_logo_link"] = context["pathto"]("index.html", 1)

    app.connect("html-page-context", name_leads_home)
