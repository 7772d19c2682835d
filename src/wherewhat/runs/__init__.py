"""What commands leave behind: tables, a manifest and one page made of them. Needs neither model nor torch."""
