//go:build linux

package inside_test

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// programs is the folder of the test's programs. Only root can write to it and its parents.
const programs = "/programs"

// striped returns a picture with visible content. Each picture is different, as those of a real
// camera are.
func striped() []byte {
	img := image.NewGray(image.Rect(0, 0, 320, 240))
	for y := range 240 {
		for x := range 320 {
			img.SetGray(x, y, color.Gray{byte(x / 40 * 30)})
		}
	}
	for i := range img.Pix[:320*8] { // the upper row of blocks
		img.Pix[i] = byte(rand.Uint32())
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, img, nil); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// program simulates the hardware that the machine does not have, depending on the program's name:
// rpicam-still, or a plug with its state in a file.
func program() (ran bool, err error) {
	plug := filepath.Join(programs, "plug-is-on")
	switch filepath.Base(os.Args[0]) {
	case "rpicam-still":
		if i := slices.Index(os.Args, "--output"); i > 0 && i+1 < len(os.Args) {
			return true, os.WriteFile(os.Args[i+1], striped(), 0o600)
		}
		_, err = fmt.Println("rpicam-apps build: v1.5.0 7c1ea54f4ac7 30-06-2024 (14:09:58)")
		return true, err
	case "plug":
		switch os.Args[1] {
		case "on":
			return true, os.WriteFile(plug, nil, 0o600)
		case "off":
			if err = os.Remove(plug); errors.Is(err, os.ErrNotExist) {
				err = nil
			}
			return true, err
		}
		_, err = os.Stat(plug)
		return true, err
	}
	return false, nil
}

// The complete messkit program uses drivers of several families: a Pi's camera program, a program
// that switches, and a network camera.
func TestAgentWithSeveralDrivers(t *testing.T) {
	if err := os.MkdirAll(programs, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"rpicam-still", "plug"} {
		if err := os.Link("/hil.test", filepath.Join(programs, name)); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
	}
	cam := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "image/jpeg")
		_, _ = w.Write(striped()) // a client that hangs up has its error already
	}))
	defer cam.Close()
	a := launch(t, fmt.Sprintf(`
  shed-cam:
    driver: rpicam
    sees: [shed]
    tool: %s/rpicam-still
    timeout: 25s
  door-cam:
    driver: httpcam
    sees: [front door]
    url: %s/snapshot.jpg
  projector:
    driver: exec-switch
    class: plug
    on: [%[1]s/plug, "on"]
    off: [%[1]s/plug, "off"]
    state: [%[1]s/plug, state]
`, programs, cam.URL))
	for _, where := range []string{"shed", "front door"} {
		output, err := a.request(t, "take a photo of the "+where)
		t.Logf("$ messkit ask \"take a photo of the %s\" --wait\n%s", where, output)
		if err != nil || !strings.Contains(output, "completed") || strings.Contains(output, "shows nothing") {
			t.Errorf("%s: %v", where, err)
		}
	}
	if list, _ := filepath.Glob(filepath.Join(a.home, "*.jpg")); len(list) != 2 {
		t.Errorf("%d pictures were saved", len(list))
	}
	is := func() bool { _, err := os.Stat(filepath.Join(programs, "plug-is-on")); return err == nil }
	a.wantCompleted(t, "turn on the projector")
	if !is() {
		t.Error("the line is low, want high")
	}
	a.wantCompleted(t, "turn off the projector")
	if is() {
		t.Error("the line is high, want low")
	}
}
