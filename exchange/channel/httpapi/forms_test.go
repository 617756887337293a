package httpapi_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/httpapi"
	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/mess"
)

// A thread has one form: at once, from the log after a start, and from its folder.
func TestUploadedImageHasOneForm(t *testing.T) {
	dir := t.TempDir()
	serve := func() (*harness, func()) {
		store, err := files.Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		return newHarnessOver(t, httpapi.Config{}, exchange.DefaultConfig(), store).serve(), func() {
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	jpeg := append([]byte("\xff\xd8\xff\xe0"), bytes.Repeat([]byte("picture!"), 100<<10)...)
	small := jpeg[:1000]
	h, end := serve()
	phone := h.register("phone", `"x"`)
	ask := fmt.Sprintf(`{"id":"door","intent":"like this","requires":["x"],"context":[{"image":%q}]}`, mess.DataURI("image/jpeg", jpeg))
	ref := h.create(h.op, ask)
	if again := h.create(h.op, ask); again != ref {
		t.Errorf("the same request again is %s", again)
	}
	one := root + "/requests/" + ref
	h.want(h.do("PATCH", one, phone, holding), 200, "")
	h.want(h.do("PATCH", one, phone, fmt.Sprintf(`{"status":"completed","mess":[{"response":{"content":[{"image":%q},{"image":%q}]}}]}`,
		mess.DataURI("image/jpeg", jpeg), mess.DataURI("image/jpeg", small))), 200, "")
	first := h.do("GET", one, h.op, "").body
	wantNamed(h, one, ref, jpeg, small)
	end()
	h, end = serve()
	if diff := cmp.Diff(first, h.do("GET", one, h.op, "").body); diff != "" {
		t.Errorf("after a start: %s", diff)
	}
	wantNamed(h, one, ref, jpeg, small)
	end()
	if err := os.RemoveAll(filepath.Join(dir, "log")); err != nil { // the folders of the threads stay
		t.Fatal(err)
	}
	h, end = serve()
	defer end()
	wantNamed(h, one, ref, jpeg, small)
}

// wantNamed looks at the three pictures of a thread: of its request, large and
// small ones.
func wantNamed(h *harness, one, ref string, large, small []byte) {
	h.Helper()
	var v struct {
		Thread struct {
			Attachments []struct{ Name string }
			Messages    []struct{ MESS []map[string]map[string]any }
		}
	}
	if err := json.Unmarshal([]byte(h.do("GET", one, h.op, "").body), &v); err != nil || len(v.Thread.Attachments) != 3 {
		h.Fatalf("%+v, %v", v.Thread.Attachments, err)
	}
	for i, want := range [][]byte{large, large, small} {
		name := v.Thread.Attachments[i].Name
		if r := h.do("GET", one+"/attachments/"+name, h.op, ""); r.code != 200 || r.body != string(want) || r.head.Get("Content-Type") != "image/jpeg" {
			h.Errorf("%s: %d, %d bytes of %d, %v", name, r.code, len(r.body), len(want), r.head)
		}
	}
	var resources []string
	for _, m := range v.Thread.Messages {
		for _, item := range m.MESS {
			for _, body := range item {
				for _, list := range []string{"context", "content"} {
					entries, _ := body[list].([]any)
					for _, e := range entries {
						entry := e.(map[string]any)
						if o, ok := entry["image"].(map[string]any); ok {
							resources = append(resources, fmt.Sprint(o["resource"], " ", o["mime"], " ", o["size"]))
							continue
						}
						if !strings.HasPrefix(entry["image"].(string), "data:") {
							h.Errorf("%v", entry)
						}
						resources = append(resources, fmt.Sprint(entry["resource"]))
					}
				}
			}
		}
	}
	names := v.Thread.Attachments
	want := []string{
		"content://" + ref + "/" + names[0].Name + " image/jpeg 819204", "content://" + ref + "/" + names[1].Name + " image/jpeg 819204",
		"content://" + ref + "/response-002/" + names[2].Name,
	}
	if diff := cmp.Diff(want, resources); diff != "" {
		h.Errorf("names (-want +got):\n%s", diff)
	}
}

// A text that is too long for a message becomes an attachment by itself.
func TestLongTextIsAttachment(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	long := strings.Repeat("a long story. ", 20_000)
	ref := h.create(h.op, fmt.Sprintf(`{"intent":"read this","context":["short",%q]}`, long))
	one := root + "/requests/" + ref
	name := newestAttachment(h, one, h.op)
	if r := h.do("GET", one+"/attachments/"+name, h.op, ""); r.code != 200 || r.body != strings.TrimSpace(long) || r.head.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%s: %d, %d bytes, %v", name, r.code, len(r.body), r.head)
	}
	if r := h.do("GET", one, h.op, ""); len(r.body) > 4096 || !strings.Contains(r.body, `"short"`) {
		t.Errorf("it stands in the message as well: %d bytes", len(r.body))
	}
	h.wantReadableError("a long intent", h.do("POST", root+"/requests", h.op, fmt.Sprintf(`{"intent":%q}`, long)), 400)
}
