//go:build linux

package inside_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// gplev0 returns the levels of lines 0 to 31 in the Pi's own GPIO controller (BCM2837 ARM
// Peripherals, 6.1). The emulator reads them from outside.
func gplev0(t *testing.T) uint64 {
	t.Helper()
	answer := outside(t, "xp /1wx 0x3f200034")
	_, word, found := strings.Cut(answer, ": 0x")
	n, err := strconv.ParseUint(strings.TrimSpace(word), 16, 32)
	if !found || err != nil {
		t.Fatalf("GPLEV0: %q", answer)
	}
	return n
}

// A request in plain English switches GPIO17 of a Pi.
func TestPiSwitchesGPIO17(t *testing.T) {
	a := launch(t, `
  porch-light:
    driver: gpiorelay
    class: light
    line: GPIO17
    limits: {max_on: 1h}
`)
	level := func(when string, want bool) {
		t.Helper()
		word, row := gplev0(t), wantKernelLevel(t, "porch")
		fmt.Printf("%s: GPLEV0 = %#08x, the kernel: %s\n", when, word, row)
		if (word>>17&1 == 1) != want {
			t.Errorf("%s: bit 17 of GPLEV0 = %#08x is not %t", when, word, want)
		}
		if want := map[bool]string{true: "out hi", false: "out lo"}[want]; row != "" && !strings.Contains(row, want) {
			t.Errorf("%s: the kernel reports %q, want %s", when, row, want)
		}
	}
	level("at the start", false)
	a.wantCompleted(t, "turn on the porch light")
	level("on", true)
	a.wantCompleted(t, "turn the porch light off")
	level("off", false)
	a.wantCompleted(t, "turn on the porch light")
	level("on again", true)
	a.kill()
	eventually(t, "GPIO17 is low after kill -9", func() error {
		if word := gplev0(t); word>>17&1 == 1 {
			return fmt.Errorf("GPLEV0 = %#08x", word)
		}
		return nil
	})
	level("after kill -9", false)
}
