package daemon

import (
	"log/slog"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/watchdog"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/internal/config"
)

// watchdogDevices returns the devices that the watchdog can switch off. It logs a warning for
// each other device with `max_on`.
func watchdogDevices(h *config.DeviceSet, limits policy.Config, log *slog.Logger) []watchdog.Device {
	var list []watchdog.Device
	for _, d := range h.Devices {
		orders := watchdogOrders(d)
		_, itself := d.Dev.(drivers.AutoOff)
		switch _, switches := d.Dev.(drivers.Switch); {
		case orders.Off != nil:
			list = append(list, watchdog.Device{Name: d.Name, Kind: d.Driver, Off: orders.Off, Safe: orders.Safe})
		case switches && !itself && limits.MaxOn(d.Name) > 0:
			log.Info("if messkit itself dies while it is on, nothing switches it off at its max_on", "device", d.Name)
		}
		if _, moves := d.Dev.(drivers.Mover); moves && orders.Off == nil {
			log.Info("if messkit itself dies while it moves, only its own limits stop it", "device", d.Name)
		}
	}
	return list
}

func watchdogOrders(d config.Device) drivers.WatchdogCommands {
	if g, ok := d.Dev.(drivers.WatchdogTarget); ok {
		return g.WatchdogCommands()
	}
	return drivers.WatchdogCommands{}
}
