package main

import (
	"bytes"
	"fmt"
	"image"
	"image/jpeg"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/test/freeport"
)

// Both the doctor and a running messkit report a failure for a camera that sends black images, or
// data that is no image.
func TestUselessImageIsReported(t *testing.T) {
	var black bytes.Buffer
	if err := jpeg.Encode(&black, image.NewGray(image.Rect(0, 0, 640, 480)), nil); err != nil {
		t.Fatal(err)
	}
	camera := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "image/jpeg")
		if r.URL.Path == "/broken.jpg" {
			_, _ = w.Write(black.Bytes()[:200])
			return
		}
		_, _ = w.Write(black.Bytes())
	}))
	defer camera.Close()
	dir, file := t.TempDir(), filepath.Join(t.TempDir(), "messkit.yaml")
	config := fmt.Sprintf(`exchange: {listen: %q, data: %[2]q, mqtt: {listen: 'off'}}
agent: {data: %[2]q}
devices:
  dark: {driver: httpcam, url: '%[3]s/black.jpg'}
  torn: {driver: httpcam, url: '%[3]s/broken.jpg'}
`, freeport.Address(t), dir, camera.URL)
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	binary := buildMesskit(t)
	doctor := func(when string) string {
		c := exec.CommandContext(t.Context(), binary, "doctor", "--config", file)
		c.Env = append(os.Environ(), "HOME="+dir, "MESSKIT_URL=", "MESSKIT_KEY_FILE=")
		out, err := c.Output()
		if c.ProcessState == nil || c.ProcessState.ExitCode() != 1 {
			t.Errorf("%s: ended with %v, and not with 1\n%s", when, err, out)
		}
		lines := strings.Split(string(out), "\n")
		has := func(begin, text string) {
			for _, line := range lines {
				if strings.HasPrefix(line, begin) && strings.Contains(line, text) {
					return
				}
			}
			t.Errorf("%s: no line %q with %q in\n%s", when, begin, text, out)
		}
		has("--   dark", "they show nothing: it is black; check the lens cover and the light")
		has("BAD  torn", "")
		return string(out)
	}
	doctor("with nobody there")
	p, err := start(dir, binary, "run", "--config", file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := p.kill(); err != nil {
			t.Error(err)
		}
	}()
	if p.url == "" {
		t.Fatal(p.stderr.String())
	}
	if out := doctor("beside a messkit that runs"); !strings.Contains(out, "messkit runs with them") {
		t.Errorf("the output does not contain that messkit runs:\n%s", out)
	}
}
