package scene

import (
	"strings"

	"github.com/messkit/messkit/drivers"
)

// Says returns a view as text and as facts.
func (s Scene) Says(view string) (string, []drivers.Fact) {
	switch view {
	case "fridge":
		return s.fridgeSays()
	case "porch":
		text, fact := s.lineSays("porch light", PorchLamp)
		return text + " Nobody is at the door.", []drivers.Fact{fact, {Name: "person at the door", Value: false}}
	case "kitchen":
		text, facts := s.floorSays("kitchen")
		more, fact := s.lineSays("coffee machine", CoffeeMachine)
		return text + " " + more, append(facts, fact)
	default: // the living room, because Validate accepts no other view
		text, facts := s.floorSays("living room")
		more, fact := s.lineSays("floor lamp", LivingRoomLamp)
		return text + " " + more, append(facts, fact)
	}
}

func (s Scene) fridgeSays() (string, []drivers.Fact) {
	if len(s.Fridge) == 0 {
		return "The fridge is empty.", nil
	}
	facts := make([]drivers.Fact, len(s.Fridge))
	for i, f := range s.Fridge {
		facts[i] = drivers.Fact{Name: f, Value: true}
	}
	return "In the fridge: " + strings.Join(s.Fridge, ", ") + ".", facts
}

func (s Scene) lineSays(name, line string) (string, drivers.Fact) {
	state := OnOff(s.Lines[line])
	return "The " + name + " is " + state + ".", drivers.Fact{Name: name, Value: state}
}

// floorSays describes the dirt on the floor of a room, and whether the vacuum is there.
func (s Scene) floorSays(room string) (string, []drivers.Fact) {
	var words []string
	var facts []drivers.Fact
	for _, one := range s.Spills {
		if one.Room == room {
			words = append(words, one.What+" "+one.Name)
			facts = append(facts, drivers.Fact{Name: one.Name, Value: one.What})
		}
	}
	text := "The floor of the " + room + " is clean."
	if len(words) > 0 {
		text = "On the floor of the " + room + ": " + strings.Join(words, " and ") + "."
	}
	if rooms[roomAt(s.Vacuum.at)].name == room {
		text += " The vacuum is " + s.Vacuum.doing() + "."
	}
	return text, facts
}
