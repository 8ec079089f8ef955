"""What both Python workers send and record."""

import json


def micros(seconds):
    return None if seconds is None else round(seconds * 1e6)


def shown(decision):
    return {
        "allowed": decision.allowed,
        "limit": decision.limit,
        "remaining": decision.remaining,
        "retry_us": micros(decision.retry_after),
        "reset_us": micros(decision.reset_after),
        "reason": decision.reason,
        "at_us": decision.at_us,
        "permit": decision.permit,
    }


def failed(error):
    return {
        "class": type(error).__name__,
        "argument": getattr(error, "argument", None),
        "may_have_counted": getattr(error, "may_have_counted", None),
    }


class Records:
    """The lines that a hammering worker writes at its end. Threads may share it."""

    def __init__(self, path):
        self._path = path
        self._lines = []
        self._errors = {}
        self._may_have_counted = 0

    def decision(self, key, units, decision):
        if decision.allowed:
            permit = decision.permit
            self._add(key, "grant", at=decision.at_us, units=units, permit=permit)
        else:
            refusal = {"retry": micros(decision.retry_after), "reason": decision.reason}
            self._add(key, "refusal", at=decision.at_us, units=units, **refusal)

    def settlement(self, key, permit, actual, answer, after, before):
        times = {"after": after.at_us, "before": before.at_us}
        self._add(key, "settlement", permit=permit, actual=actual, answer=answer, **times)

    def error(self, error):
        name = type(error).__name__
        self._errors[name] = self._errors.get(name, 0) + 1
        self._may_have_counted += getattr(error, "may_have_counted", False)

    def write(self):
        """Write the file and give what the driver is answered."""
        with open(self._path, "w") as file:
            file.writelines(line + "\n" for line in self._lines)
        return {"errors": self._errors, "may_have_counted": self._may_have_counted}

    def _add(self, key, kind, **fields):
        self._lines.append(json.dumps({"limiter": key, "is": kind, **fields}))
