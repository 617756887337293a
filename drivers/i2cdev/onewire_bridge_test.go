package i2cdev_test

import (
	"fmt"
	"testing"

	"github.com/messkit/messkit/drivers/i2cdev/i2ctest"
)

// The simulated 1-Wire bridge finds its chips like the kernel: bit by bit, in both
// directions (application note 187).
func TestOneWireBridge(t *testing.T) {
	therms := []*i2ctest.DS18B20{{Serial: 0x5a1b2c, Celsius: 21.125}, {Serial: 0x5a1b2d, Celsius: -10.125}, {Serial: 7, Gone: true}}
	d := &i2ctest.DS2482{Therms: therms}
	do := func(n int, written ...byte) byte {
		t.Helper()
		read, ok := d.Transfer(written, n)
		if !ok {
			t.Fatalf("%x is not acknowledged", written)
		}
		if n == 0 {
			return 0
		}
		return read[0]
	}
	do(0, 0xf0)
	if got := do(1); got != 0x18 {
		t.Fatalf("after a reset its status is %#x", got)
	}
	if _, ok := d.Transfer([]byte{0xc3, 0xf0}, 0); ok {
		t.Error("the bridge accepts the command for eight buses")
	}
	var found []string
	for _, way := range []byte{0, 0x80} { // the search takes both directions where the numbers differ
		do(0, 0xb4)
		if do(1)&2 == 0 {
			t.Fatal("no chip answers the search")
		}
		do(0, 0xa5, 0xf0)
		var rom uint64
		for n := range 64 {
			do(0, 0x78, way)
			rom |= uint64(do(1)>>7) << n
		}
		found = append(found, fmt.Sprintf("28-%012x", rom>>8&0xffffffffffff))
	}
	if found[0] != therms[0].Name() || found[1] != therms[1].Name() {
		t.Errorf("found %v", found)
	}
	memory := func() (m []byte) {
		do(0, 0xa5, 0xbe)
		for range 9 {
			do(0, 0x96)
			do(0, 0xe1, 0xe1)
			m = append(m, do(1))
		}
		return m
	}
	do(0, 0xb4)
	do(0, 0xa5, 0xcc)
	do(0, 0xa5, 0x44)
	if err := d.Hear("7 0 2"); err != nil {
		t.Fatal(err)
	}
	therms[1].Gone = true
	do(0, 0xb4)
	do(0, 0xa5, 0xcc)
	if m := memory(); m[0] != 0x52 || m[1] != 0x01 { // 21.125 °C is 0152h (datasheet, table 1: 25.0625 is 0191h)
		t.Errorf("memory is % x, want 52 01 first", m)
	}
}
