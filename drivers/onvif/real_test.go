package onvif_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/internal/test/go2rtc"
)

// moving returns the address of a camera with this image size, as a source for go2rtc.
func moving(t *testing.T, side int) (address string) {
	t.Helper()
	var frame bytes.Buffer
	if err := jpeg.Encode(&frame, image.NewGray(image.Rect(0, 0, side, side)), nil); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary=frame")
		again := time.NewTicker(50 * time.Millisecond)
		defer again.Stop()
		for {
			_, err := fmt.Fprintf(w, "--frame\r\nContent-Type: image/jpeg\r\nContent-Length: %d\r\n\r\n%s\r\n", frame.Len(), frame.Bytes())
			if err != nil || http.NewResponseController(w).Flush() != nil {
				return
			}
			select {
			case <-again.C:
			case <-r.Context().Done():
				return
			}
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// go2rtc is an independent ONVIF server: each of its streams is a profile.
func TestGo2rtc(t *testing.T) {
	host := go2rtc.Serve(t, map[string]string{"yard": moving(t, 64), "door": moving(t, 128)})
	for profile, want := range map[string]int{"yard": 64, "door": 128} {
		asked := time.Now()
		p, err := photo(t, "url: http://"+host+"\ntimeout: 1m\nprofile: "+profile)
		if err != nil {
			t.Errorf("%s: %v", profile, err)
			continue
		}
		c, err := jpeg.DecodeConfig(bytes.NewReader(p.Data))
		if err != nil || c.Width != want || p.MIME != "image/jpeg" || p.CapturedAt.Before(asked) {
			t.Errorf("%s: %d pixels, %s, of %v, %v", profile, c.Width, p.MIME, p.CapturedAt, err)
		}
	}
	if _, err := photo(t, "url: http://"+host+"\ntimeout: 1m\nprofile: attic"); err == nil || !strings.Contains(err.Error(), `the camera has no profile "attic"; its profiles: `) {
		t.Error(err)
	}
}

// go2rtc answers 200 without an image if its camera is unreachable.
func TestGo2rtcWithoutCamera(t *testing.T) {
	host := go2rtc.Serve(t, map[string]string{"yard": "http://127.0.0.1:1/"})
	if p, err := photo(t, "url: http://"+host+"\ntimeout: 1m"); err == nil || !strings.HasPrefix(err.Error(), "door-cam: the snapshot is neither JPEG nor PNG") {
		t.Errorf("%d bytes, %v", len(p.Data), err)
	}
}

// TestSimulatedCamera tests the simulated camera with an independent client: npm's
// onvif.
func TestSimulatedCamera(t *testing.T) {
	if _, err := os.Stat("testdata/client/node_modules/onvif"); err != nil {
		t.Skip("SKIP: npm's onvif is not there (scripts/npm.sh drivers/onvif/testdata/client)")
	}
	f := newFake(t)
	f.mu.Lock()
	f.user, f.token = "messkit", "P1" // that client does not decode & in XML
	f.mu.Unlock()
	u, err := url.Parse(f.URL)
	if err != nil {
		t.Fatal(err)
	}
	type found struct {
		Time      time.Time
		Profiles  []string
		Tokens    []string
		Snapshots []string
		Error     string
	}
	ask := func(password string) (got found) {
		t.Helper()
		c := exec.CommandContext(t.Context(), "node", "client.mjs", u.Hostname(), u.Port(), "messkit", password)
		c.Dir = "testdata/client"
		out, err := c.Output()
		if err == nil {
			err = json.Unmarshal(out, &got)
		}
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return got
	}
	got := ask("open sesame")
	if ahead := got.Time.Sub(f.now()).Abs(); ahead > time.Minute {
		t.Errorf("clock of the camera is %v", got.Time)
	}
	got.Time = time.Time{}
	want := found{
		Profiles: []string{"main", "small"}, Tokens: []string{"P1", "P2"},
		Snapshots: []string{f.URL + "/snap?profile=1&session=x", f.URL + "/snap?profile=2&session=x"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := ask("wrong"); !strings.Contains(got.Error, "Sender not Authorized") {
		t.Errorf("with a wrong password: %+v", got)
	}
}
