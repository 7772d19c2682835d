"""How good attributions are: what taking tokens away in their order does to the output, and which tokens they find."""
