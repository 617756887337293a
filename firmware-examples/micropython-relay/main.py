"""A relay that is a MESS executor by itself, over HTTP.

It takes a request only if requires names its device, or if the text is one of its
sentences; it declines all others. It switches only after the exchange has opened the
start gate, and never twice for one request: what is true if the power goes now is in
state.json before the pin moves, and is what it reports after a restart.
"""

import board  # first: it makes the pin safe

import gc
import json
import os
import socket
import time

LINE = 4096  # bytes of one offer; longer ones are left to others
ANSWER = 2048  # bytes of any other answer
REMEMBERED = 16  # refs in state.json
GATE = 2  # seconds that the gate's answer may be old when the pin moves
TIMEOUT = 10  # seconds for one answer
SILENCE = 40  # seconds without an event; the exchange says something every 15
PAUSE = 30  # seconds, the longest between two tries
VERBS = {"switch-on": "on", "switch-off": "off"}

# What a request may say beside its intent. The exchange sees to needed_by; the others
# do not change what is done. A request that says more is not understood.
HARMLESS = ("id", "intent", "requires", "context", "priority", "needed_by", "response_hint")


def load(name, default=None):
    try:
        with open(name) as f:
            return json.load(f)
    except OSError:
        return default


def save(name, value):
    """Replaces a file at once: after a power cut it is the old or the new one."""
    with open(name + ".new", "w") as f:
        f.write(json.dumps(value))
    os.rename(name + ".new", name)
    if hasattr(os, "sync"):
        os.sync()


CONFIG = load("config.json")
STATE = load("state.json", {"refs": [], "owed": None})  # owed: the report to send
KEY = load("key.json")


# --- HTTP ---


def connect(method, path, body):
    """Sends a request. HTTP/1.0, so that the answer is plain and ends with the connection."""
    board.alive()
    family, kind, proto, _, address = socket.getaddrinfo(CONFIG["host"], CONFIG["port"], 0, socket.SOCK_STREAM)[0]
    s = socket.socket(family, kind, proto)
    try:
        s.settimeout(TIMEOUT)
        s.connect(address)
        f = s.makefile("rwb", 0)
        f.write(head(method, path, len(body)).encode() + body)
        code = int(f.readline(256).split()[1])
        while f.readline(1024) not in (b"\r\n", b""):
            pass
        return s, f, code
    except (IndexError, ValueError):
        s.close()
        raise OSError("the answer is not HTTP")
    except OSError:
        s.close()
        raise


def head(method, path, size):
    lines = [
        "%s /api/v1/exchanges/%s%s HTTP/1.0" % (method, CONFIG["exchange"], path),
        "Host: %s:%d" % (CONFIG["host"], CONFIG["port"]),
        "Content-Type: application/json",
        "Content-Length: %d" % size,
    ]
    if KEY:
        lines.append("Authorization: Bearer " + KEY)
    return "\r\n".join(lines) + "\r\n\r\n"


def call(method, path, value):
    """Sends a value; returns the code and the value of the answer."""
    s, f, code = connect(method, path, json.dumps(value).encode())
    try:
        data = b""
        while len(data) <= ANSWER:
            part = f.read(ANSWER + 1 - len(data))
            if not part:
                return code, json.loads(data)
            data += part
    except ValueError:
        pass
    finally:
        s.close()
    raise OSError("%s %s: the answer is cut or too long" % (method, path))


def say(ref, epoch, code, **fields):
    """A status as a message. Its id makes the same message again count once."""
    fields["code"] = code
    return {"id": "%s-%d" % (code, epoch), "re": ref, "epoch": epoch, "MESS": [{"status": fields}]}


def post(message):
    return call("POST", "/mess", message)


# --- what is asked ---


def required(need, said):
    """The verb that an entry of requires asks of this relay, or None."""
    if isinstance(need, str):  # without a device the text must name it
        return said if VERBS.get(need) == said else None
    for name, which in need.items():
        if not isinstance(which, dict) or list(which) != ["devices"]:
            return None
        if which["devices"] in (CONFIG["device"], [CONFIG["device"]]):
            return VERBS.get(name)
    return None


def wanted(request):
    """"on" or "off", or None if the request is not surely for this relay."""
    if not all(key in HARMLESS for key in request):
        return None
    text = " ".join(request["intent"].lower().split()).rstrip(".!")
    said = CONFIG["sentences"].get(text)
    needs = request.get("requires") or []
    if not needs:
        return said
    verb = required(needs[0], said) if len(needs) == 1 else None
    return verb if said in (None, verb) else None


def take(message):
    """Answers one message of the exchange; only offers matter here."""
    request = None
    for item in message.get("MESS", []):
        request = item.get("request", request)
    if not request:
        return
    ref = message["re"] if isinstance(message["re"], str) else message["re"][0]
    verb = wanted(request)
    if ref in STATE["refs"]:
        return decline(ref, "it has been acted on already")
    if not verb:
        return decline(ref, "not understood; say one of: " + "; ".join(CONFIG["sentences"]))
    code, answer = post({"re": ref, "MESS": [{"status": {"code": "claimed"}}]})
    for item in answer["MESS"] if code == 200 else []:
        if "ack" in item:  # the list may begin with the version
            return act(ref, item["ack"]["epoch"], verb)


def decline(ref, why):
    post({"re": ref, "MESS": [{"status": {"code": "declined", "reason": why}}]})


# --- what is done ---


def owe(report, restarted=None):
    """Writes down what is to be reported, or after a restart, which makes the pin safe."""
    STATE["owed"] = report
    save("state.json", {"refs": STATE["refs"], "owed": restarted or report})


def act(ref, epoch, verb):
    """Passes the start gate, switches, and reports what is true."""
    STATE["refs"] = STATE["refs"][1 - REMEMBERED :] + [ref]
    cut = "the board restarted while it switched; the relay is off since"
    owe(failed(ref, epoch, "interrupted", cut, "unknown"))
    if started(ref, epoch):
        switch(ref, epoch, verb)
    else:
        owe(failed(ref, epoch, "not_started", "the start was not granted in time", "none"))
    deliver()


def started(ref, epoch):
    """The start gate: True only if the exchange has said yes, just now."""
    asked = time.time()
    try:
        code, _ = post(say(ref, epoch, "in_progress"))
    except OSError:
        return False
    return code == 200 and time.time() - asked <= GATE


def switch(ref, epoch, verb):
    """Switches, reads the pin back, and writes down what it has seen."""
    on, limit = verb == "on", CONFIG["max_on"]
    board.switch(on, limit)
    if board.is_on() != on:
        return owe(failed(ref, epoch, "device", "the pin does not read back as " + verb, "unknown"))
    done = say(ref, epoch, "completed", evidence="read_back")
    text = "%s is %s" % (CONFIG["device"], verb)
    if on:
        text += "; it goes off by itself after %d s" % limit
    done["MESS"].append({"response": {"content": [text]}})
    was = "it was on, until the board restarted"
    owe(done, failed(ref, epoch, "interrupted", was, "partial") if on else None)


def failed(ref, epoch, kind, detail, effect):
    reason = {"type": kind, "detail": detail, "effect": effect}
    return say(ref, epoch, "failed", reason=reason, recoverable=effect == "none")


def deliver():
    """Sends the report that is owed until the exchange has judged it."""
    if not STATE["owed"]:
        return
    code, answer = post(STATE["owed"])
    if code in (401, 408, 429) or code >= 500:
        raise OSError("report: %d %s" % (code, answer.get("error")))
    if code != 200:
        print("relay: report refused:", answer.get("error"))
    owe(None)


# --- life ---


def register():
    """Gets the key, once; afterwards brings the profile up to date."""
    global KEY
    which = {"devices": [CONFIG["device"]]}
    profile = {"display_name": CONFIG["name"], "capabilities": [{verb: which} for verb in sorted(VERBS)]}
    profile["holding"] = []  # an executor that reports its claims keeps one for 30 s, not an hour
    if KEY:
        code, answer = call("PATCH", "/executors/" + CONFIG["id"], profile)
    else:
        profile["executor_id"], profile["enrol"] = CONFIG["id"], CONFIG["enrol"]
        code, answer = call("POST", "/register", profile)
    if code not in (200, 201):
        raise OSError("register: %d %s" % (code, answer.get("error")))
    if not KEY:
        save("key.json", answer["api_key"])
        KEY = answer["api_key"]


def follow():
    """Takes what the exchange offers, line by line (server-sent events), until it is silent."""
    s, f, code = connect("GET", "/events?as=executor", b"")
    try:
        if code != 200:
            raise OSError("events: %d" % code)
        s.settimeout(SILENCE)
        while True:
            board.alive()
            line = f.readline(LINE)
            if not line:
                raise OSError("events: the stream has ended")
            whole = line.endswith(b"\n")
            while not line.endswith(b"\n") and line:
                line = f.readline(LINE)  # the rest of what is too long
            if whole and line.startswith(b"data: {"):
                take(json.loads(line[6:]))
    finally:
        s.close()


def main():
    pause = 1
    while True:
        began = time.time()
        try:
            if CONFIG.get("wifi"):
                board.online(*CONFIG["wifi"])
            register()
            deliver()
            follow()
        except Exception as err:  # a board has nobody to restart it
            print("relay:", err)
        gc.collect()
        pause = 1 if time.time() - began > PAUSE else min(2 * pause, PAUSE)
        board.alive()
        time.sleep(pause)


main()
