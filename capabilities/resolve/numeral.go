package resolve

import (
	"fmt"
	"strings"
)

// ranges says what can be set here to a number, and how far it goes.
func (r *Resolver) ranges() string {
	var list []string
	for _, c := range r.Catalog.Capabilities {
		for _, p := range c.Parameters {
			if _, fixed := c.FixedArgs().Get(p.Name); !fixed && p.Type == "number" && p.Min != nil && p.Max != nil && r.reach(c) > 0 {
				list = append(list, fmt.Sprintf("%s: %s %v to %v %s", c.ID, p.Name, *p.Min, *p.Max, p.Unit))
			}
		}
	}
	if len(list) == 0 {
		return "nothing here is set to a number"
	}
	return "what is set to a number here: " + strings.Join(list, "; ")
}
