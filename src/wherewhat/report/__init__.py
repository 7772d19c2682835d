"""Draw what was measured as one page that needs nothing else: values in, text or pictures out.

A page is data first (`core.page.Page`), then text (`core.render.render`). This room sees neither tensors nor files
other than its own assets. `blocks` has the few kinds of chart and table that everything is drawn with, `pages` the
pages that are no study's.
"""
