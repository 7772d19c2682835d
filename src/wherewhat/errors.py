"""Two kinds of error: one that people can mend, in a sentence that says how, and one that is our own mistake."""


class UserError(Exception):
    """Something the user can mend. The command line prints it as one sentence and exits with 2."""


class InternalError(RuntimeError):
    """Something that cannot be, whatever the model: a mistake of ours, worth reporting."""
