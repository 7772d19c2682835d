"""Words in other places: do small encoders notice, and whose doing is it, the encoding's or the training's?"""
