"""The one error that a user meets: a sentence that names what was wrong and what was expected."""


class InputError(ValueError):
    """Bad input from outside: an option, a field, a file.

    Its text is one clear sentence (place, value, expectation) that may be shown as it is.
    """
