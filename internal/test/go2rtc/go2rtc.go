// Package go2rtc runs go2rtc, an external camera server, for tests of camera drivers. Only tests
// import it.
package go2rtc

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/test/freeport"
)

// startTimeout is the time limit for the start. The machine may be busy.
const startTimeout = time.Minute

// Serve serves streams on a port of this machine until the test ends. The keys are names of
// streams, the values their sources. It skips the test if go2rtc is not installed.
func Serve(t *testing.T, streams map[string]string) (host string) {
	t.Helper()
	if testing.Short() {
		t.Skip("a real server takes seconds")
	}
	program := find()
	if program == "" {
		t.Skip("SKIP: go2rtc is not there (make bin/go2rtc)")
	}
	host = freeport.Address(t)
	var conf strings.Builder
	fmt.Fprintf(&conf, "api: {listen: %q}\nrtsp: {listen: \"\"}\nwebrtc: {listen: \"\"}\nsrtp: {listen: \"\"}\nlog: {format: text, level: debug}\nstreams:\n", host)
	for name, from := range streams {
		fmt.Fprintf(&conf, "  %s: %q\n", name, from)
	}
	file := filepath.Join(t.TempDir(), "go2rtc.yaml")
	if err := os.WriteFile(file, []byte(conf.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := exec.Command(program, "-config", file)
	c.Dir, c.Stdout, c.Stderr = filepath.Dir(file), &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill()
		_ = c.Wait() // killed above
		if t.Failed() {
			t.Logf("go2rtc said:\n%s", &out)
		}
	})
	// go2rtc answers before all modules are ready. Its debug module is the last one.
	for end := time.Now().Add(startTimeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		answer, err := http.Get("http://" + host + "/api/stack")
		if err != nil {
			continue
		}
		_ = answer.Body.Close()
		if answer.StatusCode == http.StatusOK {
			return host
		}
	}
	t.Fatal("go2rtc does not serve")
	return ""
}

// find returns the program in bin, or the installed one, or "".
func find() string {
	if _, here, _, ok := runtime.Caller(0); ok {
		built := filepath.Join(filepath.Dir(here), "..", "..", "..", "bin", "go2rtc")
		if _, err := os.Stat(built); err == nil {
			return built
		}
	}
	installed, _ := exec.LookPath("go2rtc") // "" where it is not
	return installed
}
