package wording

import (
	"math"
	"testing"
)

func TestNumbersAreReadable(t *testing.T) {
	for f, want := range map[float64]string{
		31.200000000000003: "31.2", 2.000004: "2", 214.8821: "214.9", 50.221: "50.22", 1013.25: "1013.2", 4.5: "4.5", 0: "0", -66: "-66", -0.04: "-0.04",
		0.012345: "0.0123", 0.08: "0.08", 0.1 + 0.2: "0.3", 0.9999: "1", 1e-9: "0.000000001", 123456.78: "123456.8", 23: "23", 5e-324: "0", -1e-300: "0",
		math.Inf(1): "+Inf",
	} {
		if got := Rounded(f); got != want {
			t.Errorf("rounded(%v) = %q, want %q", f, got, want)
		}
	}
	for f, want := range map[float64]string{31.200000000000003: "31.2", 2.000004: "2.000004", 0.1 + 0.2: "0.3", 1.0 / 3: "0.333333333333", 16777216: "16777216", 1e20: "100000000000000000000"} {
		if got := Number(f); got != want {
			t.Errorf("number(%v) = %q, want %q", f, got, want)
		}
	}
}
