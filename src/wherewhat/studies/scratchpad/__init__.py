"""Does writing down the steps help a net on longer inputs, and in which format? (arXiv 2305.19466)"""
