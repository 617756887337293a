package all

import (
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/homeassistant"
	"github.com/messkit/messkit/drivers/httpdevice"
	"github.com/messkit/messkit/drivers/mqttdevice"
	"github.com/messkit/messkit/drivers/onvif"
	"github.com/messkit/messkit/drivers/printer"
	"github.com/messkit/messkit/drivers/roombawifi"
	"github.com/messkit/messkit/drivers/valetudo"
)

// network returns the kinds for devices in the network.
func network() []drivers.Kind {
	return []drivers.Kind{homeassistant.Kind(), httpdevice.Kind(), mqttdevice.Kind(), onvif.Kind(), printer.Kind(), roombawifi.Kind(), valetudo.Kind()}
}
