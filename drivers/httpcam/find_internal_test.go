package httpcam

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/drivers"
)

// Find returns the camera servers that run, and no other server.
func TestFind(t *testing.T) {
	ustreamer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"ok": true, "result": {"instance_id": "", "source": {"online": true}}}`)
	}))
	t.Cleanup(ustreamer.Close)
	motion := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "multipart/x-mixed-replace; boundary=BoundaryString")
	}))
	t.Cleanup(motion.Close)
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()

	got := find(t.Context(), []server{
		{"ustreamer", ustreamer.URL, isUstreamer, "http://a/snapshot"},
		{"a page", motion.URL, isUstreamer, "http://b/"},
		{"another page", ustreamer.URL, isStream, "http://c/"},
		{"an error", other.URL, isStream, "http://d/"},
		{"nothing", gone.URL, isStream, "http://e/"},
		{"motion", motion.URL, isStream, "http://f/"},
	})
	want := []drivers.FoundDevice{
		{Name: "ustreamer-camera", Where: "ustreamer at http://a/snapshot", Config: map[string]string{"url": "http://a/snapshot"}},
		{Name: "motion-camera", Where: "motion at http://f/", Config: map[string]string{"url": "http://f/"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
