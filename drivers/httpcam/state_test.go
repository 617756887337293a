package httpcam_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers/httpcam"
)

const gone = "door-cam: the server has no camera and sends a placeholder; check that the camera is connected there"

// online is the relevant part of ustreamer's /state.
const online = `{"ok": true, "result": {"source": {"online": true}}}`

// ustreamer answers like the real program. states are successive answers of /state; the
// last one repeats.
func ustreamer(t *testing.T, states ...string) *http.ServeMux {
	t.Helper()
	pic := jpegOf(t, 1, 8, 8)
	mux := http.NewServeMux()
	mux.HandleFunc("/cam/state", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(states[0]))
		if len(states) > 1 {
			states = states[1:]
		}
	})
	mux.HandleFunc("/cam/stream", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Add("Set-Cookie", "other=1")
		w.Header().Add("Set-Cookie", "stream_client=0/b021bf8551ea398e; path=/; max-age=30")
		stream(func(int) []byte { return pic }, time.Millisecond)(w, r)
	})
	mux.HandleFunc("/cam/snapshot", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-UStreamer-Online", map[bool]string{true: "true", false: "false"}[states[0] == online])
		_, _ = w.Write(pic)
	})
	mux.HandleFunc("/plain", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(pic) })
	return mux
}

func TestPlaceholderIsAnError(t *testing.T) {
	const (
		on      = online
		off     = `{"ok": true, "result": {"source": {"online": false}}}`
		unclear = "door-cam: http://HOST/cam/state has no result.source.online; set state_url to ustreamer's /state, or to off"
	)
	for _, tt := range []struct {
		name, path string
		states     []string
		stateURL   string // the test replaces HOST
		want       string // "": an image
	}{
		{"stream, online", "/cam/stream", []string{on}, "", ""},
		{"stream, offline", "/cam/stream", []string{off}, "", gone},
		{"stream, lost meanwhile", "/cam/stream", []string{on, off}, "", gone},
		{"stream, came meanwhile", "/cam/stream", []string{off, on}, "", gone},
		{"stream, not asked", "/cam/stream", []string{off}, "off", ""},
		{"stream, unclear", "/cam/stream", []string{`{"ok": true}`}, "", unclear},
		{"stream, no JSON", "/cam/stream", []string{strings.Repeat(" ", 1<<20)}, "", unclear},
		{"snapshot, online", "/cam/snapshot", []string{on}, "", ""},
		{"snapshot, offline", "/cam/snapshot", []string{off}, "", gone},
		{"behind a proxy, online", "/plain", []string{on}, "http://HOST/cam/state?x=secret", ""},
		{"behind a proxy, offline", "/plain", []string{off}, "http://HOST/cam/state?x=secret", gone},
		{"nothing there", "/plain", []string{on}, "http://HOST/none?x=secret", "door-cam: state of the camera: http://HOST/none answers 404; " +
			"the camera has no such page: see the manual of the camera for the path of the snapshot or stream (state_url: off disables this request)"},
		{"no ustreamer", "/plain", []string{off}, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := handle(t, ustreamer(t, tt.states...).ServeHTTP)
			c := camera(t, s.URL+tt.path, func(c *httpcam.Config) {
				c.StateURL = strings.Replace(tt.stateURL, "HOST", strings.TrimPrefix(s.URL, "http://"), 1)
			})
			if tt.want != "" {
				if got := photoError(t, c, s.URL); got != tt.want {
					t.Errorf("\n got %s\nwant %s", got, tt.want)
				}
				return
			}
			if _, err := c.Photo(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPlaceholderInTheStream(t *testing.T) {
	body := "--b\r\nX-UStreamer-Online: false\r\n\r\n" + string(jpegOf(t, 1, 8, 8))
	s := serve(t, []byte(body), "Content-Type: multipart/x-mixed-replace;boundary=b")
	if got := photoError(t, camera(t, s.URL, nil), s.URL); got != gone {
		t.Error(got)
	}
}
