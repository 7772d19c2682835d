"""One head with one rotary frequency: which tasks can it learn at which angle? After arXiv 2511.11579.

The net is so small that hundreds of them learn side by side: one for each base angle and each seed. Arrays in here end
in these letters beside those of `axes`:

| letter | axis |
|---|---|
| E | seed |
| A | base angle |
| R | run: a seed and an angle, E · A |
| Y | sample of a run: a seed, a sample and an angle, E · N · A |
| M | symbol |
| U | query |
| V | answer |
| W | weight of a net |
| X | row to look up or to add up |
"""
