"""The one error that is meant for people: a sentence that says what came and what to do."""


class UserError(Exception):
    """Something the user can mend. The command line prints it as one sentence and exits with 2."""
