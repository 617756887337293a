package v4l2cam

import (
	"testing"
	"unsafe"
)

// The kernel identifies each structure by its size (linux/videodev2.h, on 64-bit and 32-bit
// machines).
func TestSizes(t *testing.T) {
	wide := unsafe.Sizeof(uintptr(0)) == 8
	pick := func(sixtyFour, thirtyTwo uintptr) uintptr {
		if wide {
			return sixtyFour
		}
		return thirtyTwo
	}
	for name, tt := range map[string]struct{ got, want uintptr }{
		"v4l2_capability":     {unsafe.Sizeof(capability{}), 104},
		"v4l2_fmtdesc":        {unsafe.Sizeof(formatDescription{}), 64},
		"v4l2_pix_format":     {unsafe.Sizeof(pixFormat{}), 48},
		"v4l2_format":         {unsafe.Sizeof(videoFormat{}), pick(208, 204)},
		"v4l2_requestbuffers": {unsafe.Sizeof(requestBuffers{}), 20},
		"v4l2_buffer":         {unsafe.Sizeof(buffer{}), pick(88, 68)},
	} {
		if tt.got != tt.want {
			t.Errorf("%s has %d bytes, want %d", name, tt.got, tt.want)
		}
	}
	if n := setFormat.of(208); n != 0xc0d05605 {
		t.Errorf("VIDIOC_S_FMT = %#x", n)
	}
}
