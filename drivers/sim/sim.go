// Package sim simulates a home: cameras that render its rooms, a lamp and a plug on Gobot's
// relay driver, a vacuum with a map, and other devices. All devices of one program share
// one World, which logs each change.
//
// It allows trials of messkit without hardware, and serves as the reference in tests. It
// knows no requests.
package sim

import "github.com/messkit/messkit/drivers"

// Kinds returns the kinds of simulated devices.
func Kinds() []drivers.Kind {
	return []drivers.Kind{
		{Name: "sim-camera", Class: "camera", About: "simulated camera: renders a room of the simulated home", Open: factory(DefaultCameraConfig, NewCamera)},
		{Name: "sim-lamp", Class: "light", About: "simulated lamp on a relay (Gobot)", Open: openLamp, RunWatchdogCommand: runWatchdogCommand},
		{Name: "sim-bulb", Class: "light", About: "simulated bulb with brightness, color and color temperature", Open: openBulb, RunWatchdogCommand: runWatchdogCommand},
		{Name: "sim-plug", Class: "plug", About: "simulated plug with a coffee machine (Gobot)", Open: openPlug, RunWatchdogCommand: runWatchdogCommand},
		{Name: "sim-cover", Class: "blind", About: "simulated blind or garage door, with positions", Open: factory(zero[CoverConfig], newCover)},
		{Name: "sim-lock", Class: "lock", About: "simulated lock of a door", Open: factory(zero[LineConfig], newLock)},
		{Name: "sim-meter", Class: "plug", About: "simulated plug that measures power", Open: openMeter, RunWatchdogCommand: runWatchdogCommand},
		{Name: "sim-appliance", Class: "coffee-machine", About: "simulated appliance that works for a while and measures its power", Open: openAppliance, RunWatchdogCommand: runWatchdogCommand},
		{Name: "sim-sensor", Class: "sensor", About: "simulated sensor: temperature, humidity, motion, contact, moisture, ...", Open: factory(zero[SensorConfig], NewSensor)},
		{Name: "sim-servo", Class: "servo", About: "simulated servo that turns to angles, and reports its angle", Open: factory(DefaultServoConfig, newServo)},
		{Name: "sim-printer", Class: "printer", About: "simulated 3D printer: print, progress, pause, cancel", Open: factory(DefaultPrinterConfig, NewPrinter)},
		{Name: "sim-rover", Class: "rover", About: "simulated rover that moves while its lease is renewed", Open: openRover, RunWatchdogCommand: runWatchdogCommand},
		{Name: "sim-thermostat", Class: "heater", About: "simulated heater that maintains a target temperature", Open: openThermostat, RunWatchdogCommand: runWatchdogCommand},
		{Name: "sim-vacuum", Class: "vacuum", About: "simulated vacuum with a map", Open: factory(DefaultVacuumConfig, NewVacuum)},
	}
}

// factory returns the factory of a device in the world of the program.
func factory[C any, D drivers.Device](defaults func() C, create func(name string, cfg C, w *World) D) drivers.Factory {
	return drivers.NewFactory(defaults, func(env drivers.Env, cfg C) (d D, err error) {
		w, err := WorldOf(env)
		if err != nil {
			return d, err
		}
		return create(env.Name, cfg, w), nil
	})
}

// zero returns an empty configuration.
func zero[C any]() (cfg C) { return cfg }
