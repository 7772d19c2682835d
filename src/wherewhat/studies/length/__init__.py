"""Which position encoding goes on working on longer inputs than it was trained on? (arXiv 2305.19466)"""
