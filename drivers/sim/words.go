package sim

import (
	"strings"

	"github.com/messkit/messkit/drivers"
)

// says returns a view as text and as facts.
func (s scene) says(view string) (string, []drivers.Fact) {
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

func (s scene) fridgeSays() (string, []drivers.Fact) {
	if len(s.fridge) == 0 {
		return "The fridge is empty.", nil
	}
	facts := make([]drivers.Fact, len(s.fridge))
	for i, f := range s.fridge {
		facts[i] = drivers.Fact{Name: f, Value: true}
	}
	return "In the fridge: " + strings.Join(s.fridge, ", ") + ".", facts
}

func (s scene) lineSays(name, line string) (string, drivers.Fact) {
	state := onOff(s.lines[line])
	return "The " + name + " is " + state + ".", drivers.Fact{Name: name, Value: state}
}

// floorSays describes the dirt on the floor of a room, and whether the vacuum is there.
func (s scene) floorSays(room string) (string, []drivers.Fact) {
	var words []string
	var facts []drivers.Fact
	for _, one := range s.spills {
		if one.room == room {
			words = append(words, one.what+" "+one.name)
			facts = append(facts, drivers.Fact{Name: one.name, Value: one.what})
		}
	}
	text := "The floor of the " + room + " is clean."
	if len(words) > 0 {
		text = "On the floor of the " + room + ": " + strings.Join(words, " and ") + "."
	}
	if rooms[roomAt(s.robot.at)].name == room {
		text += " The vacuum is " + s.robot.doing() + "."
	}
	return text, facts
}

func (r robot) doing() string {
	switch {
	case r.moving:
		return "driving"
	case !r.docked.IsZero():
		return "in its dock"
	default:
		return "standing still"
	}
}
