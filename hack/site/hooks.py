"""Makes docs/README.md the navigation, and links to other files than pages and images lead to the repository."""

import os
import posixpath
import re

REPOSITORY = "https://github.com/vitrine-dev/vitrine/blob/main/"


def target(link, page):
    """Returns the link of a page in the site."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link.partition("#")[0]))
    inside = path.startswith("docs/") and path.endswith((".md", ".svg", ".png"))
    return link if re.match("[a-z]+:|#", link) or inside else REPOSITORY + path


def on_config(config):
    config.nav = [{"Documentation": "README.md"}]
    with open(os.path.join(config.docs_dir, "README.md"), encoding="utf-8") as index:
        for line in index:
            entry = re.match(r"- \[(.+?)\]\((.+?)\)", line)
            if line.startswith("## "):
                pages = []
                config.nav.append({line[3:].strip(): pages})
            elif entry:
                pages.append({entry[1]: target(entry[2], "README.md")})


def on_page_markdown(markdown, page, **_):
    markdown = re.sub(r"(?m)^( *```\w+) .*$", r"\1", markdown)  # the rest of the line is for the tests that run the commands
    return re.sub(r"(?<=\]\()[^)\s]+(?=\))", lambda link: target(link[0], page.file.src_uri), markdown)
