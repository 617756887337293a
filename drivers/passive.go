package drivers

// Passive is the Base of a device that has nothing to open, and nothing to bring to a safe
// state. Drivers embed it.
type Passive struct{ Base }

// NewPassive returns the Passive of a device with this name.
func NewPassive(name string) Passive { return Passive{NewBase(name)} }

// Start allows verbs.
func (p *Passive) Start() error { p.MarkStarted(); return nil }

// Halt terminates the verbs under way and waits for them.
func (p *Passive) Halt() error { p.StopVerbs(); return nil }
