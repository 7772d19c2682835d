"""What a page is made of: HTML that cannot be injected, charts and sections, colours, and the finished text."""
