package v4l2cam

import (
	"context"
	"fmt"
	"strings"

	"github.com/messkit/messkit/drivers"
)

// Find returns the cameras of this host. It reads the description of each, and starts none.
func Find(context.Context) []drivers.FoundDevice { return find(System{}.cameras()) }

// present is a connected camera.
type present struct {
	path string // preferably a permanent link
	card string // name that the camera reports
}

func find(cameras []present) []drivers.FoundDevice {
	list := make([]drivers.FoundDevice, len(cameras))
	for i, c := range cameras {
		list[i] = drivers.FoundDevice{Name: name(c.card), Where: fmt.Sprintf("camera %q at %s", c.card, c.path), Config: map[string]string{"device": c.path}}
	}
	return list
}

// name converts the name that a camera reports to a name for the configuration: "HD Pro
// Webcam C920" becomes hd-pro-webcam-c920. The reported name is untrusted.
func name(card string) string {
	word := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= '0' && r <= '9' }
	parts := strings.FieldsFunc(strings.ToLower(card), func(r rune) bool { return !word(r) })
	s := strings.Join(parts, "-")
	if s = strings.Trim(s[:min(len(s), 40)], "-"); s == "" {
		return "camera"
	}
	return s
}
