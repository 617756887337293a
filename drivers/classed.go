package drivers

// Classed is a device that knows better than its Kind what it is to a person:
// light, plug, vacuum, ... What is configured counts more.
type Classed interface {
	Class() string
}

// Placed is a device that may know in which area of the home it is: a place in
// words, "" where it does not know. What is configured counts more.
type Placed interface {
	Area() string
}
