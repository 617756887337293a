// Package promtool has Prometheus's own program check what messkit writes for Prometheus. Only tests
// import it.
package promtool

import (
	"bytes"
	"os/exec"
	"testing"
)

// Metrics checks metrics in the text format. Without the program it skips the rest of the test.
func Metrics(t testing.TB, text []byte) {
	t.Helper()
	check := command(t, "metrics", "check", "metrics")
	check.Stdin = bytes.NewReader(text)
	if out, err := check.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

// Rules checks a file with rules. Without the program it skips the rest of the test.
func Rules(t testing.TB, file string, flags ...string) {
	t.Helper()
	check := command(t, "rules", append([]string{"check", "rules"}, append(flags, file)...)...)
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("promtool: %v\n%s", err, out)
	}
}

func command(t testing.TB, what string, args ...string) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		t.Skipf("promtool does not check the %s, because it is not installed; apt-get install prometheus has it", what)
	}
	return exec.CommandContext(t.Context(), program, args...)
}
