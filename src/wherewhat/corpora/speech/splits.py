"""What the parts of a speech corpus are called. Free of numpy, so that a page knows them too."""

TRAIN, TEST = "train", "test"  # a corpus may have further tests, and need not have this one
NEW_SPEAKER = "new speaker"  # a test with the speaker who is not in training
LEADING = "leading silence"  # the plain test, with silence before every utterance
LONG = {f"{count} digits": count for count in (10, 15, 20)}  # tests of longer utterances than those of training
