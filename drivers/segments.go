package drivers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CheckSegments tells what is wrong with the rooms of a robot: its own ids, and what
// people call each. A room without a name cannot be asked for, nor one of two with the
// same; and a name that is a number stands where the id belongs. Each mistake begins
// with the key segments.
func CheckSegments(segments map[string]string) (errs []error) {
	first := map[string]string{} // id by name
	for _, id := range slices.Sorted(maps.Keys(segments)) {
		name := strings.TrimSpace(segments[id])
		is := strings.ToLower(name)
		other, taken := first[is]
		switch {
		case name == "":
			errs = append(errs, fmt.Errorf("segments: %q has no name; write what people call that room", id))
		case strings.Trim(name, "0123456789") == "":
			errs = append(errs, fmt.Errorf("segments: %q is a number, and no room is called so; write the robot's id first and the room behind it, like 16: kitchen", name))
		case taken:
			errs = append(errs, fmt.Errorf("segments: %q and %q are both called %q; give each a name of its own", other, id, name))
		default:
			first[is] = id
		}
	}
	return errs
}
