package sim

// Example is one device of the default simulated home, with what people call
// it. Config is what its driver reads.
type Example struct {
	Name    string
	Label   string
	Driver  string // the kind
	Class   string
	Area    string
	Sees    []string // what a camera looks at
	Aliases []string
	Config  map[string]any
}

// Home returns the devices of the default simulated home.
func Home() []Example {
	return []Example{
		{
			Name: "fridge-camera", Label: "fridge camera", Driver: "sim-camera", Class: "camera", Area: "kitchen",
			Sees: []string{"fridge"}, Config: map[string]any{"room": "fridge"},
		},
		{
			Name: "porch-camera", Label: "porch camera", Driver: "sim-camera", Class: "camera", Area: "porch",
			Sees: []string{"porch", "front door"}, Config: map[string]any{"room": "porch"},
		},
		{
			Name: "kitchen-camera", Label: "kitchen camera", Driver: "sim-camera", Class: "camera", Area: "kitchen",
			Sees: []string{"kitchen", "kitchen floor"}, Config: map[string]any{"room": "kitchen"},
		},
		{
			Name: "porch-light", Label: "porch light", Driver: "sim-lamp", Class: "light", Area: "porch",
			Aliases: []string{"porch lamp"}, Config: map[string]any{"line": PorchLamp},
		},
		{
			Name: "coffee-machine", Label: "coffee machine", Driver: "sim-plug", Class: "plug", Area: "kitchen",
			Aliases: []string{"coffee maker"}, Config: map[string]any{"line": CoffeeMachine},
		},
		{
			Name: "vacuum", Label: "vacuum", Driver: "sim-vacuum", Class: "vacuum",
			Aliases: []string{"robot", "hoover"}, Config: map[string]any{},
		},
	}
}
