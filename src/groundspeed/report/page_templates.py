"""The HTML templates of this room, and the one way past their escaping."""

from __future__ import annotations

from functools import cache

import jinja2
from markupsafe import Markup


@cache
def template(name: str) -> jinja2.Template:
    """Load one of the packaged templates; a name that it does not know is an error there."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("groundspeed.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def drawn(svg_text: str) -> Markup:
    """Vouch for an SVG of ours; the only way past the template's escaping."""
    return Markup(svg_text)  # noqa: S704 - `svg` escapes every text it is given
