"""The letters that end every tensor's name, so that a wrong line looks wrong.

| letter | axis |
|---|---|
| B | sequence in a batch |
| L | layer |
| H | head (query heads; keys shared by a group are repeated first) |
| G | group of heads that share their keys |
| Q | query: a row of attention, not necessarily every row |
| K | key: a column of attention |
| T | token of a sequence |
| D | width of the residual stream |
| C | channel of one head |
| F | rotary frequency (a pair of channels) |
| S | slot: the position of a key |
| R | relative position, or real and imaginary parts side by side |
| O | offset: slot of the key minus slot of the query |
| P | pair of keys at equal distance left and right of a query |
| N | sample of a task |
| V | entry of a vocabulary |
| A | label that a whole text may get |

`attention_HQK = attention_BHQK.mean(0)` reads as what it does. Scalars and vectors that have no axis worth naming
carry no letters.
"""
