"""Every interval, bootstrap, correlation, significance test and verdict rule. Numbers in, numbers out: no models."""
