package localpolicy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/messkit/messkit/capabilities"
)

// EveryClass lists the risk classes that can act.
var EveryClass = []capabilities.Risk{
	capabilities.RiskComfort, capabilities.RiskAppliance, capabilities.RiskAccess, capabilities.RiskMotion, capabilities.RiskIrreversible,
}

// ClassNames returns EveryClass as one text.
func ClassNames() string {
	names := make([]string, len(EveryClass))
	for i, c := range EveryClass {
		names[i] = string(c)
	}
	return strings.Join(names, ", ")
}

// CheckDevice returns an error unless there is a device of that name.
func CheckDevice(name string, devices []string) error {
	if slices.Contains(devices, name) {
		return nil
	}
	return fmt.Errorf("%q is no device here; devices: %s", name, strings.Join(devices, ", "))
}

// ClassOrDevice reads the name of a risk class, or "" where it is a device.
func ClassOrDevice(what string, devices []string) (capabilities.Risk, error) {
	class := capabilities.Risk(what)
	if class.Known() {
		return class, nil
	}
	if slices.Contains(devices, what) {
		return "", nil
	}
	return "", fmt.Errorf("%q is neither a risk class nor a device here; classes: %s; devices: %s",
		what, ClassNames(), strings.Join(devices, ", "))
}
