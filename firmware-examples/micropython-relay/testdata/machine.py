"""A pin that writes down what happens to it, and a timer, for tests on a computer.

The file stall says when the pin is to hang ("before" or "after" it has switched on);
with the file stuck it does not move.
"""

import time

try:
    import _thread
except ImportError:  # some ports have none; then an on does not end
    _thread = None


def read(name):
    try:
        with open(name) as f:
            return f.read().strip()
    except OSError:
        return ""


def log(line):
    with open("pin.log", "a") as f:
        f.write(line + "\n")


def stall(when):
    if read("stall") == when:
        log("stalled")
        while True:
            time.sleep(1)


class Pin:
    OUT = 1

    def __init__(self, number, mode, value):
        self.level = value
        log("boot %d" % value)

    def value(self, level=None):
        if level is None:
            return self.level
        if level:
            stall("before")
        if not read("stuck"):
            self.level = level
        log(str(level))
        if level:
            stall("after")


class Timer:
    ONE_SHOT = 0

    def __init__(self, number):
        self.run = 0

    def deinit(self):
        self.run += 1

    def init(self, mode, period, callback):
        self.run += 1
        if _thread:
            _thread.start_new_thread(self._wait, (self.run, period, callback))

    def _wait(self, run, period, callback):
        time.sleep(period / 1000)
        if run == self.run:
            callback(self)
