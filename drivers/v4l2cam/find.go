package v4l2cam

import (
	"context"
	"fmt"
	"strings"

	"github.com/messkit/messkit/drivers"
)

// Find looks for the cameras of this machine. It asks each what it is, and starts
// none.
func Find(context.Context) []drivers.Found { return find(System{}.cameras()) }

// present is a camera that is plugged in.
type present struct {
	path string // better by a link that stays the same
	card string // what it calls itself
}

func find(cameras []present) []drivers.Found {
	list := make([]drivers.Found, len(cameras))
	for i, c := range cameras {
		list[i] = drivers.Found{Name: name(c.card), Where: fmt.Sprintf("camera %q at %s", c.card, c.path), Config: map[string]string{"device": c.path}}
	}
	return list
}

// name makes one for a configuration of what a camera calls itself, which comes
// from outside: "HD Pro Webcam C920" is hd-pro-webcam-c920.
func name(card string) string {
	word := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }
	parts := strings.FieldsFunc(strings.ToLower(card), func(r rune) bool { return !word(r) })
	s := strings.Join(parts, "-")
	if s = strings.Trim(s[:min(len(s), 40)], "-"); s == "" {
		return "camera"
	}
	return s
}
