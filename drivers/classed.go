package drivers

// Classed is a device that knows better than its Kind what it is to a person:
// light, plug, vacuum, ... What is configured counts more.
type Classed interface {
	Class() string
}
