package device

import (
	"slices"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/drivers"
)

// IsReadable reports whether a device has a reading method.
func IsReadable(d drivers.Device) bool {
	switch d.(type) {
	case drivers.SwitchReader, drivers.OpeningReader, drivers.LockReader, drivers.DockReader, drivers.Sensor, drivers.TargetReader, drivers.LevelReader, drivers.AngleReader:
		return true
	}
	return false
}

// Commands returns the commands that a driver supports.
func Commands(d drivers.Device) []capabilities.Command {
	var list []capabilities.Command
	add := func(can bool, commands ...capabilities.Command) {
		if can {
			list = append(list, commands...)
		}
	}
	_, photographs := d.(drivers.Photographer)
	_, observes := d.(drivers.Observer)
	_, switches := d.(drivers.Switch)
	_, reads := d.(drivers.SwitchReader)
	_, measures := d.(drivers.Sensor)
	_, cleans := d.(drivers.Cleaner)
	_, lamp := d.(policy.DimmableLight)
	_, painted := d.(policy.ColorLight)
	_, moves := d.(drivers.Mover)
	_, pauses := d.(drivers.Pauser)
	_, stops := d.(drivers.Stopper)
	_, warms := d.(policy.ColorTemperatureLight)
	_, turns := d.(drivers.Turner)
	_, opens := d.(drivers.Opener)
	_, positions := d.(drivers.Positioner)
	_, locks := d.(drivers.Locker)
	_, heats := d.(drivers.Thermostat)
	_, spots := d.(drivers.SpotCleaner)
	_, prints := d.(drivers.Printer)
	_, presses := d.(drivers.Presser)
	add(photographs, capabilities.TakePhoto)
	add(observes, capabilities.Observe)
	add(switches, capabilities.SetSwitch)
	add(switches && reads, capabilities.Toggle)
	add(lamp, capabilities.Dim)
	add(painted, capabilities.SetColor)
	add(warms, capabilities.SetColorTemperature)
	add(reads || measures, capabilities.ReadState)
	add(cleans, capabilities.Clean, capabilities.Dock)
	add(spots, capabilities.CleanSpot)
	add(opens, capabilities.Open, capabilities.Close)
	add(positions, capabilities.OpenTo)
	add(locks, capabilities.Lock, capabilities.Unlock)
	add(pauses, capabilities.Pause, capabilities.Resume)
	add(stops, capabilities.Stop)
	add(prints, capabilities.Print)
	add(moves, capabilities.Move)
	add(turns, capabilities.TurnTo)
	add(heats, capabilities.SetTemperature)
	add(presses, capabilities.Press)
	add(watchable(d), capabilities.WaitForCondition)
	add(showsEnd(d), capabilities.WaitUntilDone)
	return list
}

// Limits returns the limits of a device for the parameters of plans, and its named angles.
func Limits(d drivers.Device) (map[string]capabilities.Range, []capabilities.NamedAngle) {
	limits := map[string]capabilities.Range{}
	var list []capabilities.NamedAngle
	if t, ok := d.(drivers.Turner); ok {
		turns := t.AngleLimits()
		limits["angle"] = capabilities.Range{Min: turns.Min, Max: turns.Max}
		for _, p := range turns.NamedAngles {
			list = append(list, capabilities.NamedAngle{Name: p.Name, Angle: p.Degrees})
		}
	}
	if w, ok := d.(drivers.ColorTemperatureSetter); ok {
		warmest, coldest := w.ColorTemperatureRange()
		limits["kelvin"] = capabilities.Range{Min: warmest, Max: coldest}
	}
	if t, ok := d.(drivers.Thermostat); ok {
		targets := t.TargetRange()
		limits["temperature"] = capabilities.Range{Min: targets.Min, Max: targets.Max}
	}
	return limits, list
}

// hasState reports whether a device has a state that a command changes.
func hasState(d drivers.Device) bool {
	switch d.(type) {
	case drivers.Switch, drivers.Cleaner, drivers.Opener, drivers.Locker:
		return true
	}
	return false
}

// Able reports whether a driver supports a command. A camera without an observation of its own
// observes by an image, and the images of an earlier thread need no driver.
func Able(d drivers.Device, c capabilities.Command) bool {
	all := Commands(d)
	return slices.Contains(all, c) || c == capabilities.Observe && slices.Contains(all, capabilities.TakePhoto) || c == capabilities.EarlierImages
}

// watchable reports whether a device reports a state.
func watchable(d drivers.Device) bool {
	switch d.(type) {
	case drivers.Sensor, drivers.SwitchReader, drivers.OpeningReader, drivers.LockReader:
		return true
	}
	return false
}

// showsEnd reports whether a device may show the end of its activity. For a sensor the power
// shows it; a reading without power returns an error.
func showsEnd(d drivers.Device) bool {
	switch d.(type) {
	case drivers.Worker, drivers.RestReader, drivers.Sensor:
		return true
	}
	return false
}
