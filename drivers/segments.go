package drivers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// CheckSegments returns the errors in the rooms of a robot: a map from the robot's id of a
// room to the name that people use. Each room needs a name of its own. A name that is a
// number is an error, because the id and the name are most likely swapped. Each error
// begins with the key segments.
func CheckSegments(segments map[string]string) (errs []error) {
	first := map[string]string{} // id by name
	for _, id := range slices.Sorted(maps.Keys(segments)) {
		name := strings.TrimSpace(segments[id])
		is := strings.ToLower(name)
		other, taken := first[is]
		switch {
		case name == "":
			errs = append(errs, fmt.Errorf("segments: %q has no name; write the name that people use for that room", id))
		case strings.Trim(name, "0123456789") == "":
			errs = append(errs, fmt.Errorf("segments: %q is a number, not the name of a room; write the robot's id first and the room after it, like 16: kitchen", name))
		case taken:
			errs = append(errs, fmt.Errorf("segments: %q and %q have the same name %q; give each a different name", other, id, name))
		default:
			first[is] = id
		}
	}
	return errs
}
