package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// referenceChecks is the number of checks in the API test suite of git-messe-af, the
// public project whose clients use this API (php-server/tests/api_test.php, commit e1728ec).
const referenceChecks = 73

// referenceSuite counts checks.
type referenceSuite struct {
	*harness
	checks int
}

func (s *referenceSuite) check(ok bool, what string, got any) {
	s.Helper()
	s.checks++
	if !ok {
		s.Errorf("%s: got %v", what, got)
	}
}

func (s *referenceSuite) status(r reply, what string, want ...int) reply {
	s.Helper()
	s.check(slices.Contains(want, r.code), what, fmt.Sprint(r.code, " ", r.body))
	return r
}

// within returns the value at a path of names in the answer, "" if there is none.
func (r reply) within(names ...string) any {
	var v any
	if json.Unmarshal([]byte(r.body), &v) != nil {
		return ""
	}
	for _, name := range names {
		object, _ := v.(map[string]any)
		if v = object[name]; v == nil {
			return ""
		}
	}
	return v
}

// TestReferenceSuite makes the requests of the reference project's API suite and wants the
// answers that the suite wants.
func TestReferenceSuite(t *testing.T) {
	s := &referenceSuite{harness: startHarness(t, httpapi.Config{})}
	key := s.registers()
	s.authenticates(key)
	ref := s.completesARequest(key)
	s.status(s.do("GET", root+"/executors", key, ""), "list of executors", 200)
	s.check(s.do("GET", root+"/executors", key, "").within("executors") != "", "list of executors: executors", "none")
	s.status(s.do("PATCH", root+"/executors/test-1", key, `{"display_name":"Updated","capabilities":["photo","location","audio"]}`), "own profile", 200)
	s.refusesOtherPaths(key, ref)
	s.takesTextAsText(key)
	s.refusesForeignKeys(key)
	s.refusesBadInput(key)
	s.answersAtTheEdges(key)
	if s.checks != referenceChecks {
		t.Errorf("%d checks; the suite has %d", s.checks, referenceChecks)
	}
}

func (s *referenceSuite) registers() (key string) {
	r := s.status(s.do("GET", "/health", "", ""), "health", 200)
	s.check(r.field("status") != "", "health: status", r.body)
	s.check(r.field("status") == "ok", "health: status is ok", r.body)
	s.check(r.field("exchange_id") == "home", "health: exchange_id", r.body)

	r = s.status(s.do("POST", root+"/register", "", `{"executor_id":"test-1","display_name":"Test Executor","capabilities":["photo","location"]}`), "register", 201)
	key, _ = r.within("api_key").(string)
	s.check(r.within("api_key") != "", "register: api_key", r.body)
	s.check(r.within("executor_id") == "test-1", "register: executor_id", r.body)
	s.check(strings.HasPrefix(key, "mess_home_"), "register: form of the key", key)
	s.status(s.do("POST", root+"/register", "", `{"executor_id":"test-1"}`), "register the same id", 409)
	s.status(s.do("POST", root+"/register", "", `{"display_name":"No ID"}`), "register without an id", 400)
	return key
}

func (s *referenceSuite) authenticates(key string) {
	for k, code := range map[string]int{"": 401, "invalid_token": 401, "not_a_mess_token": 401, key: 200} {
		s.status(s.do("GET", root+"/requests", k, ""), fmt.Sprintf("requests with the key %q", k), code)
	}
}

func (s *referenceSuite) completesARequest(key string) (ref string) {
	r := s.status(s.do("POST", root+"/requests", key, `{"intent":"Test request from an API test suite","priority":"normal","context":["Running automated tests"],"response_hints":["text"]}`), "create", 201)
	ref, _ = r.within("ref").(string)
	s.check(r.within("ref") != "", "create: ref", r.body)
	s.check(r.field("status") == "pending", "create: status", r.body)
	s.check(ref != "", "create: the ref is text", r.body)

	r = s.status(s.do("GET", root+"/requests", key, ""), "list", 200)
	threads, _ := r.within("threads").([]any)
	s.check(threads != nil, "list: threads", r.body)
	s.check(slices.ContainsFunc(threads, func(v any) bool {
		thread, _ := v.(map[string]any)
		return thread["ref"] == ref
	}), "list: the new request", r.body)

	one := root + "/requests/" + ref
	r = s.status(s.do("GET", one, key, ""), "get", 200)
	s.check(r.within("thread") != "", "get: thread", r.body)
	s.check(r.within("thread", "ref") == ref, "get: ref", r.body)
	r = s.status(s.do("PATCH", one, key, `{"status":"claimed"}`), "claim", 200)
	s.check(r.field("status") == "claimed", "claim: status", r.body)
	r = s.status(s.do("PATCH", one, key, fmt.Sprintf(`{"status":"completed","mess":[{"response":{"re":%q,"content":["Test completed successfully"]}}]}`, ref)), "complete", 200)
	s.check(r.field("status") == "completed", "complete: status", r.body)
	r = s.do("GET", one, key, "")
	s.check(r.within("thread", "status") == "completed", "get: status at the end", r.body)
	return ref
}

// refusesOtherPaths sends the paths of the suite as its client sends them: without
// their dots. TestInvalidPathIs404 has many raw paths.
func (s *referenceSuite) refusesOtherPaths(key, ref string) {
	for _, path := range []string{
		"/api/v1/etc/passwd",
		root + "/requests/..%2F..%2F..%2Fetc%2Fpasswd",
		root + "/requests/....//....//....//etc/passwd",
		"/api/v1/exchanges/etc/passwd",
		root + "/executors/admin",
	} {
		s.status(s.do("GET", path, key, ""), path, 400, 401, 403, 404)
	}
	s.status(s.do("GET", "/api/etc/passwd/requests", key, ""), "path of another exchange", 400, 401, 403, 404)
	s.status(s.do("GET", root+"/requests/etc/passwd", key, ""), "path behind attachments", 400, 404)
	// The same again, with the dots in the path.
	for _, path := range []string{"../../../etc/passwd", ref + "/../../executors/admin", ref + "/attachments/../../../etc/passwd"} {
		if r := s.do("GET", root+"/requests/"+path, key, ""); r.code < 400 || r.code >= 500 || r.code == 405 {
			s.Errorf("%s: %d %s", path, r.code, r.body)
		}
	}
}

func (s *referenceSuite) takesTextAsText(key string) {
	for _, text := range []string{
		"'; DROP TABLE users; --", "1' OR '1'='1", "1; SELECT * FROM passwords",
		"test: !!python/object/apply:os.system ['id']", "--- !ruby/object:Gem::Installer\ni: x",
	} {
		body, err := json.Marshal(map[string]string{"intent": text})
		if err != nil {
			s.Fatal(err)
		}
		s.status(s.do("POST", root+"/requests", key, string(body)), text, 201)
	}
	for _, suffix := range []string{"; rm -rf /", "$(whoami)", "`id`", "| cat /etc/passwd"} {
		s.status(s.do("POST", root+"/register", "", fmt.Sprintf(`{"executor_id":%q}`, "cmd-test-"+suffix)), suffix, 400)
	}
	r := s.do("POST", root+"/requests", key, `{"intent":"test","__proto__":{"admin":true},"constructor":{"prototype":{"admin":true}}}`)
	s.status(r, "names that mean something to other languages", 201, 400)
}

func (s *referenceSuite) refusesForeignKeys(key string) {
	for i := range 5 {
		s.status(s.do("GET", root+"/requests", fmt.Sprintf("mess_home_%032x", i+1), ""), "key that nobody has", 401)
	}
	s.status(s.do("GET", "/api/v1/exchanges/other/requests", key, ""), "key of another exchange", 403)
	for _, k := range []string{"mess_home_", "mess__abc123", "mess_home", strings.Repeat("A", 10_000), "mess_home_abc"} {
		s.status(s.do("GET", root+"/requests", k, ""), "key of another form", 401)
	}
	other := s.register("other-1", "")
	s.status(s.do("PATCH", root+"/executors/test-1", other, `{"display_name":"Not mine"}`), "profile of another executor", 403)
	s.status(s.do("GET", root+"/requests", other, ""), "list of another executor", 200)
}

func (s *referenceSuite) refusesBadInput(key string) {
	for _, body := range []string{"[]", `{"priority":"normal"}`} {
		s.status(s.do("POST", root+"/requests", key, body), body, 400)
	}
	s.status(s.do("POST", root+"/requests", key, `{"intent":"`+strings.Repeat("A", 100_000)+`"}`), "long intent", 201, 400, 413)
	s.status(s.do("POST", root+"/requests", key, `{"intent":"special characters: <>&\"' ✓"}`), "special characters", 201)
	s.status(s.do("POST", root+"/requests", key, "not valid json{{{"), "broken JSON", 400)
}

func (s *referenceSuite) answersAtTheEdges(key string) {
	s.status(s.do("GET", root+"/requests/9999-99-99-XXXX", key, ""), "unknown request", 404)
	s.status(s.do("GET", "/api/v1/exchanges/nonexistent/requests", key, ""), "unknown exchange", 403)
	s.status(s.do(http.MethodOptions, root+"/requests", "", ""), "OPTIONS", 204)
	s.status(s.do(http.MethodHead, "/health", "", ""), "HEAD of health", 200)
	s.status(s.do("GET", root+"/unknown", "", ""), "unknown endpoint without a key", 401)
	s.status(s.do("GET", root+"/unknown", key, ""), "unknown endpoint", 404)
}
