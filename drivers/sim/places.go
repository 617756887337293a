package sim

import (
	"fmt"
	"math"
	"strings"

	"github.com/messkit/messkit/drivers"
)

// place is an area that the vacuum can clean.
type place struct {
	drivers.Area
	floor rect
	paces float64 // duration as a multiple of the pace
}

// places returns the rooms, each followed by the dirt on its floor.
func (s scene) places() []place {
	var list []place
	for _, r := range rooms {
		list = append(list, place{drivers.Area{Name: r.name, Room: r.name}, r.free, 3})
		for _, one := range s.spills {
			if one.room == r.name {
				list = append(list, place{drivers.Area{Name: one.name, Room: one.room, Note: one.what}, one.area(), 1})
			}
		}
	}
	return list
}

func names(places []place) []string {
	var list []string
	for _, p := range places {
		list = append(list, p.Name)
	}
	return list
}

// vacuumSays returns the state of the vacuum as text and as facts.
func (s scene) vacuumSays() (string, []drivers.Fact) {
	where, battery := rooms[roomAt(s.robot.at)].name, math.Round(s.robot.charge(s.now))
	text := fmt.Sprintf("The vacuum is %s, in the %s; its battery has %.0f %%.", s.robot.doing(), where, battery)
	facts := []drivers.Fact{
		{Name: "vacuum", Value: s.robot.doing()},
		{Name: "room", Value: where},
		{Name: "battery", Value: battery, Unit: "%"},
	}
	var dirt []string
	for _, one := range s.spills {
		dirt = append(dirt, one.what+" "+one.name)
		facts = append(facts, drivers.Fact{Name: one.name, Value: one.what})
	}
	if len(dirt) > 0 {
		text += " To clean: " + strings.Join(dirt, ", ") + "."
	}
	return text, facts
}
