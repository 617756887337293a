package onewire

import (
	"context"
	"os"

	"github.com/messkit/messkit/drivers"
)

// Find returns the thermometers that the kernel has found. It reads none.
func Find(context.Context) []drivers.FoundDevice { return find(Devices) }

func find(folder string) []drivers.FoundDevice {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return nil // this host has no 1-Wire bus
	}
	var list []drivers.FoundDevice
	for _, e := range entries {
		if id := e.Name(); validID.MatchString(id) {
			list = append(list, drivers.FoundDevice{Name: "thermometer-" + id[len(id)-6:], Where: "DS18B20 " + id, Config: map[string]string{"id": id}})
		}
	}
	return list
}
