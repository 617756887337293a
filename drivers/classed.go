package drivers

// Classed reports the class of a device (light, plug, vacuum, ...) where the device knows
// it better than its Kind. A class in the configuration takes precedence.
type Classed interface {
	Class() string
}

// Placed reports the area of the home that a device is in, as people name it, or "" if the
// device does not know. An area in the configuration takes precedence.
type Placed interface {
	Area() string
}
