"""One head with one rotary frequency: which tasks can it learn at which angle? After arXiv 2511.11579.

The net is so small that hundreds of copies train in parallel: one per base angle and seed. Array names in this study
end in these letters, in addition to those of `axes`:

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
| X | row to gather from a table, or to add to one |
"""
