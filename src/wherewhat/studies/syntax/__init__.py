"""Which relations between words heads find by where words stand, and which by what they say: small nets, gold trees."""
