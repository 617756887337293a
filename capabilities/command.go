package capabilities

import (
	"slices"
	"strings"
)

// Command is an act of an executor on a device. Each command corresponds to one verb of package
// drivers.
type Command string

// The commands.
const (
	TakePhoto           Command = "take-photo"      // drivers.Photographer
	Observe             Command = "observe"         // drivers.Observer, with a photo where the device is a Photographer
	SetSwitch           Command = "switch"          // drivers.Switch; args: on (bool)
	Toggle              Command = "toggle"          // drivers.SwitchReader and drivers.Switch: off if it is on, on if it is off
	Dim                 Command = "dim"             // drivers.Dimmer; args: level (percent), or change (percent more or, below 0, less)
	SetColor            Command = "tint"            // drivers.ColorSetter; args: colour (#rrggbb)
	SetColorTemperature Command = "warm"            // drivers.ColorTemperatureSetter; args: kelvin, or change (kelvin more or, below 0, less)
	ReadState           Command = "read-state"      // drivers.SwitchReader, drivers.Sensor
	Clean               Command = "clean"           // drivers.Cleaner; args: areas ([]string)
	Dock                Command = "dock"            // drivers.Cleaner
	CleanSpot           Command = "spot"            // drivers.SpotCleaner
	Pause               Command = "pause"           // drivers.Pauser
	Resume              Command = "resume"          // drivers.Pauser
	Stop                Command = "stop"            // drivers.Stopper
	Print               Command = "print"           // drivers.Printer; args: file (its name among the device's spots)
	Open                Command = "open"            // drivers.Opener
	Close               Command = "close"           // drivers.Opener
	OpenTo              Command = "open-to"         // drivers.Positioner; args: opening (percent)
	Lock                Command = "lock"            // drivers.Locker
	Unlock              Command = "unlock"          // drivers.Locker
	TurnTo              Command = "turn-to"         // drivers.Turner; args: angle (degrees)
	Press               Command = "press"           // drivers.Presser
	SetTemperature      Command = "set-temperature" // drivers.Thermostat; args: temperature (°C)
	WaitForCondition    Command = "watch"           // drivers.Sensor, SwitchReader, OpeningReader, LockReader; args: until, value, quantity; lasts For at most
	WaitUntilDone       Command = "await"           // drivers.Worker, Sensor (power), RestReader: until it is done; lasts For at most
	EarlierImages       Command = "earlier"         // no verb: sends pictures of an earlier thread; args: thread, pictures
	Move                Command = "move"            // drivers.Mover; args: forward (m/s), turn (rad/s, to the left); lasts For
)

// Known reports whether c is one of the commands.
func (c Command) Known() bool { return slices.Contains(AllCommands, string(c)) }

// Parameters lists the parameters that a plan with this command may have: its arguments,
// and "for" if the state may have a duration.
func (c Command) Parameters() []string {
	switch c {
	case SetSwitch:
		return []string{"on", "for"}
	case Dim:
		return []string{"level", "change"}
	case SetColor:
		return []string{"colour"}
	case SetColorTemperature:
		return []string{"kelvin", "change"}
	case OpenTo:
		return []string{"opening"}
	case TurnTo:
		return []string{"angle"}
	case SetTemperature:
		return []string{"temperature"}
	case Clean:
		return []string{"areas"}
	case Print:
		return []string{"file"}
	case WaitForCondition, WaitUntilDone:
		return []string{"for"}
	case Move:
		return []string{"forward", "turn", "for"}
	}
	return nil
}

// KnownCommands lists the commands for people.
func KnownCommands() string { return strings.Join(AllCommands, ", ") }

// IsWait reports whether a command waits for an event and only observes.
func (c Command) IsWait() bool { return c == WaitForCondition || c == WaitUntilDone }

// Acts reports whether the command changes the physical state of a device.
func (c Command) Acts() bool {
	return c != "" && c != TakePhoto && c != Observe && c != ReadState && c != EarlierImages && !c.IsWait() && c != "wait"
}

// AllCommands lists the commands that some driver carries out. A catalog file may name
// these.
var AllCommands = []string{
	string(TakePhoto), string(Observe), string(SetSwitch), string(Toggle), string(Dim), string(SetColor), string(SetColorTemperature),
	string(ReadState), string(Clean), string(Dock), string(CleanSpot), string(Pause), string(Resume), string(Stop),
	string(Print), string(Open), string(Close), string(OpenTo), string(Lock), string(Unlock), string(Move), string(TurnTo),
	string(SetTemperature), string(Press), string(WaitForCondition), string(WaitUntilDone),
}
