"""The hardware of the relay on an ESP32 or a Pico W: pin, timer, watchdog, Wi-Fi.

main.py imports this before anything else, so the pin is safe before there is a network.
"""

import sys
import time
import time

import network
from machine import Pin, Timer

PIN = 5  # GPIO that drives the relay's input
ON = 1  # level that closes the relay; 0 for relay boards that are active low

ESP32 = sys.platform == "esp32"

_pin = Pin(PIN, Pin.OUT, value=1 - ON)
_timer = Timer(0 if ESP32 else -1)  # an ESP32 has no virtual timers
_dog = None
if ESP32:  # the Pico's watchdog barks after 8 s at most, which a name lookup may take
    from machine import WDT

    _dog = WDT(timeout=60000)


def _open(_):
    _pin.value(1 - ON)


def switch(on, max_on):
    """Switches the relay; an on ends by itself after max_on seconds."""
    _timer.deinit()
    if on:  # the timer comes first: what is on is always on its way off
        _timer.init(mode=Timer.ONE_SHOT, period=max_on * 1000, callback=_open)
    _pin.value(ON if on else 1 - ON)


def is_on():
    """Reads the level back from the pin."""
    return _pin.value() == ON


def alive():
    """Must be called once a minute on an ESP32, or the board restarts."""
    if _dog:
        _dog.feed()


def online(ssid, password):
    """Joins the Wi-Fi, within 20 s."""
    wlan = network.WLAN(network.STA_IF)
    wlan.active(True)
    if not wlan.isconnected():
        wlan.connect(ssid, password)
    for _ in range(20):
        if wlan.isconnected():
            return
        alive()
        time.sleep(1)
    wlan.active(False)  # the next try begins from nothing
    raise OSError("wifi: %s does not answer; look at ssid and password" % ssid)
