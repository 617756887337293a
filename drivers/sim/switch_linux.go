package sim

import "gobot.io/x/gobot/v2/drivers/gpio"

var (
	_ gpio.DigitalWriter = (*adaptor)(nil)
	_ gpio.DigitalReader = (*adaptor)(nil)
)

// newSwitch returns Gobot's relay driver.
func newSwitch(pins *adaptor, line string) switcher { return gpio.NewRelayDriver(pins, line) }
