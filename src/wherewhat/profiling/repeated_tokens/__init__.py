"""Random tokens, said twice: which heads look one back, find the same token again, or what came after it then."""
