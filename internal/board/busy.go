package board

import (
	"fmt"
	"strings"
)

// BusyError reports that another process or driver uses a line.
type BusyError struct {
	Place  Position
	Holder string // consumer of the line; "" if the kernel does not report it
}

func (e *BusyError) Unwrap() error { return ErrBusy }

func (e *BusyError) Error() string {
	holder := "the kernel"
	if e.Holder != "" {
		holder = fmt.Sprintf("%q", e.Holder)
	}
	return fmt.Sprintf("%s is in use by %s; %s", e.Place, holder, advice(e.Holder))
}

// overlays maps the beginning of a consumer's name to a remedy: the setting in
// /boot/firmware/config.txt of a Raspberry Pi that uses the line (source: overlays/README).
var overlays = []struct{ consumer, do string }{
	{"spi", "remove dtparam=spi=on or the spi overlay from /boot/firmware/config.txt, or take fewer chip selects with dtoverlay=spi0-1cs or spi0-0cs, and restart"},
	{"onewire", "remove dtoverlay=w1-gpio from /boot/firmware/config.txt, or give it another gpiopin=, and restart"},
	{"w1", "remove dtoverlay=w1-gpio from /boot/firmware/config.txt, or give it another gpiopin=, and restart"},
	{"ACT", "give the light another line with dtparam=act_led_gpio= in /boot/firmware/config.txt, and restart"},
	{"PWR", "give the light another line with dtparam=pwr_led_gpio= in /boot/firmware/config.txt, and restart"},
	{"led", "remove dtoverlay=gpio-led from /boot/firmware/config.txt, or give it another gpio=, and restart"},
	{"ir", "remove dtoverlay=gpio-ir from /boot/firmware/config.txt, or give it another gpio_pin=, and restart"},
	{"gpio_ir", "remove dtoverlay=gpio-ir from /boot/firmware/config.txt, or give it another gpio_pin=, and restart"},
	{"gpio-fan", "remove dtoverlay=gpio-fan from /boot/firmware/config.txt, or give it another gpiopin=, and restart"},
	{"gpio-shutdown", "remove dtoverlay=gpio-shutdown from /boot/firmware/config.txt, and restart"},
	{"shutdown", "remove dtoverlay=gpio-shutdown from /boot/firmware/config.txt, and restart"},
	{"i2c", "remove dtoverlay=i2c-gpio from /boot/firmware/config.txt, or give it other lines, and restart"},
	{"dht11", "remove dtoverlay=dht11 from /boot/firmware/config.txt, and restart"},
	{"sysfs", "another program has exported the line: write its number into /sys/class/gpio/unexport"},
}

// advice returns the remedy for the holder of a line.
func advice(consumer string) string {
	if strings.HasPrefix(consumer, labelPrefix) {
		return "two devices of the configuration, or another messkit, use the same line; give one of them another"
	}
	for _, o := range overlays {
		if strings.HasPrefix(consumer, o.consumer) {
			return o.do
		}
	}
	if consumer == "" {
		return "find the overlay that uses it in /boot/firmware/config.txt, or use another line"
	}
	return "stop that program, or use another line"
}
