package referenceserver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/test/referenceserver"
)

// step is one line of testdata/recorded.json: a request, and the response of the reference
// servers. KEY and REF stand for earlier values.
type step struct {
	By, Method, Path, Type, Body string
	Code                         map[string]int // by server
	Has                          map[string]string
}

// The imitations give the recorded responses of the reference servers.
func TestServerMatchesRecordings(t *testing.T) {
	text, err := os.ReadFile("testdata/recorded.json")
	if err != nil {
		t.Fatal(err)
	}
	var steps []step
	if err := json.Unmarshal(text, &steps); err != nil || len(steps) == 0 {
		t.Fatalf("%d steps, %v", len(steps), err)
	}
	for _, name := range referenceserver.Names() {
		t.Run(name, func(t *testing.T) {
			s, err := referenceserver.New(name)
			if err != nil {
				t.Fatal(err)
			}
			keys, ref := map[string]string{"wrong": "mess_home_0"}, ""
			for _, st := range steps {
				if st.Code[name] == 0 {
					continue
				}
				path := strings.ReplaceAll(st.Path, "REF", ref)
				r := httptest.NewRequest(st.Method, path, strings.NewReader(strings.ReplaceAll(st.Body, "REF", ref)))
				if r.Header.Set("Content-Type", st.Type); st.Type == "" {
					r.Header.Set("Content-Type", "application/json")
				}
				if st.By != "" {
					r.Header.Set("Authorization", "Bearer "+keys[st.By])
				}
				w := httptest.NewRecorder()
				s.ServeHTTP(w, r)
				body, _ := io.ReadAll(w.Result().Body)
				where := fmt.Sprintf("%s %s %s", st.Method, path, st.Body)
				if w.Code != st.Code[name] {
					t.Errorf("%s: %d %s, want %d", where, w.Code, body, st.Code[name])
				}
				if want := st.Has[name]; !strings.Contains(string(body), want) {
					t.Errorf("%s: %s\nhas no %s", where, body, want)
				}
				if key := regexp.MustCompile(`mess_\w+_[0-9a-f]{32}`).FindString(string(body)); key != "" {
					var v struct {
						ID string `json:"executor_id"`
					}
					_ = json.Unmarshal(body, &v) // it has the id
					keys[v.ID] = key
				}
				if found := regexp.MustCompile(`\d{4}-\d\d-\d\d-[0-9A-F]{4}`).FindString(string(body)); found != "" && st.Method == http.MethodPost && ref == "" {
					ref = found
				}
			}
		})
	}
}
