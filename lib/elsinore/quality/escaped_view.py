"""Data Docs pages on which values from the data cannot become markup.

The pages of Great Expectations 1.24 put unexpected and observed values into table cells as they
are (its templates end in `.j2`, which its own choice of what to escape leaves out), so an event id
like `<script>` would run in the reader's browser.
"""

from __future__ import annotations

import html
from typing import Any

from great_expectations.render.view import DefaultJinjaPageView
from jinja2 import pass_context


class EscapedPageView(DefaultJinjaPageView):
    """Escapes every plain text; blocks with a type of their own render as before."""

    @pass_context
    def render_content_block(
        self,
        jinja_context: Any,
        content_block: Any,
        index: Any = None,
        content_block_id: Any = None,
        render_to_markdown: bool = False,
    ) -> Any:
        """One block as HTML."""
        block = content_block
        if isinstance(block, str):
            return html.escape(block)
        if isinstance(block, list):
            block = [html.escape(part) if isinstance(part, str) else part for part in block]
        return super().render_content_block(
            jinja_context, block, index, content_block_id, render_to_markdown
        )


#: For the configuration of a Data Docs site.
ESCAPED_VIEW = {"module_name": __name__, "class_name": EscapedPageView.__name__}
