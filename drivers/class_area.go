package drivers

// ClassReporter reports the class of a device (light, plug, vacuum, ...) where the device knows
// it better than its Kind. A class in the configuration takes precedence.
type ClassReporter interface {
	Class() string
}

// AreaReporter reports the area of the home that a device is in, as people name it, or "" if the
// device does not know. An area in the configuration takes precedence.
type AreaReporter interface {
	Area() string
}
