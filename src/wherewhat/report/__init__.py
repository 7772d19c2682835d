"""Draw what was measured as one page that needs nothing else: values in, text or pictures out.

A page is data first (`Page`), then text (`render`). This room sees neither tensors nor files other than its own assets.
"""

from wherewhat.report.figures import figures
from wherewhat.report.heads import page_of_heads
from wherewhat.report.page import Figure, Page, Section
from wherewhat.report.render import inline, render

__all__ = ["Figure", "Page", "Section", "figures", "inline", "page_of_heads", "render"]
