"""The results of commands: tables, a manifest and one page drawn from them. Needs neither a model nor torch."""
