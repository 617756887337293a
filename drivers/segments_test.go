package drivers_test

import (
	"errors"
	"testing"

	"github.com/messkit/messkit/drivers"
)

func TestCheckSegments(t *testing.T) {
	for _, c := range []struct {
		segments map[string]string
		want     string
	}{
		{nil, ""},
		{map[string]string{"16": "kitchen", "17": "hall", "living_room": "Room 3"}, ""},
		{map[string]string{"16": " "}, `segments: "16" has no name; write the name that people use for that room`},
		{map[string]string{"kitchen": "16"}, `segments: "16" is a number, not the name of a room; write the robot's id first and the room after it, like 16: kitchen`},
		{map[string]string{"98": "kitchen", "99": "Kitchen "}, `segments: "98" and "99" have the same name "Kitchen"; give each a different name`},
	} {
		got := ""
		if err := errors.Join(drivers.CheckSegments(c.segments)...); err != nil {
			got = err.Error()
		}
		if got != c.want {
			t.Errorf("%v: %q, want %q", c.segments, got, c.want)
		}
	}
}
