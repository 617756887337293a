package scene

import (
	"fmt"
	"math"
	"strings"

	"github.com/messkit/messkit/drivers"
)

// Place is an area that the vacuum can clean.
type Place struct {
	drivers.Area
	Floor Rect
	Paces float64 // duration as a multiple of the pace
}

// Places returns the rooms, each followed by the dirt on its floor.
func (s Scene) Places() []Place {
	var list []Place
	for _, r := range rooms {
		list = append(list, Place{drivers.Area{Name: r.name, Room: r.name}, r.free, 3})
		for _, one := range s.Spills {
			if one.Room == r.name {
				list = append(list, Place{drivers.Area{Name: one.Name, Room: one.Room, Note: one.What}, one.area(), 1})
			}
		}
	}
	return list
}

// VacuumSays returns the state of the vacuum as text and as facts.
func (s Scene) VacuumSays() (string, []drivers.Fact) {
	where, battery := rooms[roomAt(s.Vacuum.at)].name, math.Round(s.Vacuum.Charge(s.Now))
	text := fmt.Sprintf("The vacuum is %s, in the %s; its battery has %.0f %%.", s.Vacuum.doing(), where, battery)
	facts := []drivers.Fact{
		{Name: "vacuum", Value: s.Vacuum.doing()},
		{Name: "room", Value: where},
		{Name: "battery", Value: battery, Unit: "%"},
	}
	var dirt []string
	for _, one := range s.Spills {
		dirt = append(dirt, one.What+" "+one.Name)
		facts = append(facts, drivers.Fact{Name: one.Name, Value: one.What})
	}
	if len(dirt) > 0 {
		text += " To clean: " + strings.Join(dirt, ", ") + "."
	}
	return text, facts
}
