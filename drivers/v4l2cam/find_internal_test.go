package v4l2cam

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/drivers"
)

func TestFound(t *testing.T) {
	got := find([]present{{"/dev/v4l/by-id/usb-x-video-index0", "HD Pro Webcam C920"}, {"/dev/video4", "\n: ../ \x00"}})
	want := []drivers.FoundDevice{
		{Name: "hd-pro-webcam-c920", Where: `camera "HD Pro Webcam C920" at /dev/v4l/by-id/usb-x-video-index0`, Config: map[string]string{"device": "/dev/v4l/by-id/usb-x-video-index0"}},
		{Name: "camera", Where: `camera "\n: ../ \x00" at /dev/video4`, Config: map[string]string{"device": "/dev/video4"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
