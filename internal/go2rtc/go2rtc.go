// Package go2rtc runs go2rtc, a camera server that others have written, for tests
// of camera drivers. Only tests import it.
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

	"github.com/messkit/messkit/internal/freeport"
)

// patience is how long it may take to begin: a machine may be busy.
const patience = time.Minute

// Serve serves streams, each a name and where it comes from, on a port of this
// machine for as long as the test runs. Where there is no go2rtc it skips the
// test.
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
		_ = c.Wait() // it was killed
		if t.Failed() {
			t.Logf("go2rtc said:\n%s", &out)
		}
	})
	// It answers before all that it serves is there; its debug module comes last.
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
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

// find is the program that make has built, or that is installed.
func find() string {
	if _, here, _, ok := runtime.Caller(0); ok {
		built := filepath.Join(filepath.Dir(here), "..", "..", "bin", "go2rtc")
		if _, err := os.Stat(built); err == nil {
			return built
		}
	}
	installed, _ := exec.LookPath("go2rtc") // "" where it is not
	return installed
}
