package httpapi_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// The way of one request as clients in the field go it, with the shapes that
// their servers give.
func TestReferenceClients(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	h.want(h.do("GET", "/health", "", ""), 200, `{"status":"ok","service":"mess-exchange","version":"1.2.3","exchange_id":"home"}`)

	r := h.do("POST", root+"/register", "", `{"executor_id":"phone","display_name":"My Phone","capabilities":["take-photo",{"vacuum-floor":{"areas":["kitchen"]}}],"notifications":[],"hooks":{}}`)
	h.want(r, 201, `{"executor_id":"phone","api_key":"mess_home_KEY","message":"Keep this key; the exchange shows it only once."}`)
	phone, agent := r.field("api_key"), h.register("claude-agent", "")
	h.want(h.do("POST", root+"/register", "", `{"executor_id":"phone"}`), 409, "")
	h.want(h.do("POST", root+"/register", "", `{}`), 400, `{"error":"executor_id required","why":"invalid"}`)

	r = h.do("POST", root+"/requests", agent, `{"intent":"Check if the garage door is closed","context":["Getting ready for bed",{"url":"https://example.com/x"}],"priority":"elevated","response_hints":["image",{"text":"one line"}],"x_own":{"kept":[1,2.50]}}`)
	h.want(r, 201, `{"ref":"DAY-001","status":"pending","unknown":["x_own"]}`)
	ref := r.field("ref")
	row := `{"ref":"DAY-001","status":"pending","intent":"Check if the garage door is closed","requestor_id":"claude-agent","executor_id":null,"priority":"elevated","created_at":"TIME","updated_at":"TIME"}`
	h.want(h.do("GET", root+"/requests?status=pending", phone, ""), 200, `{"threads":[`+row+`]}`)
	h.want(h.do("GET", root+"/requests?status=claimed", phone, ""), 200, `{"threads":[]}`)

	one := root + "/requests/" + ref
	h.want(h.do("PATCH", one, phone, `{}`), 200, `{"ref":"DAY-001","status":"pending"}`)
	h.want(h.do("PATCH", one, phone, `{"status":"claimed","message":"On it","mess":[{"status":{"re":"`+ref+`","code":"claimed","executor":"phone","estimate":"PT10M"}}]}`), 200, `{"ref":"DAY-001","status":"claimed"}`)
	r = h.do("GET", one, agent, "")
	for _, want := range []string{
		`"executor_id":"phone"`,
		`{"request":{"intent":"Check if the garage door is closed","context":["Getting ready for bed",{"url":"https://example.com/x"}],"response_hint":["image",{"text":"one line"}],"priority":"elevated","x_own":{"kept":[1,2.50]}}}`,
		`"estimate":"PT10M"`, `"message":"On it"`, `"from":"phone"`, `"ts":"TIME"`,
	} {
		if !strings.Contains(r.plain(), want) {
			t.Errorf("the thread has no %s:\n%s", want, r.plain())
		}
	}
	h.want(h.do("PATCH", one, phone, `{"status":"in-progress"}`), 200, `{"ref":"DAY-001","status":"in_progress"}`)
	h.want(h.do("PATCH", one, phone, `{"status":"needs-input","mess":[{"status":{"code":"needs_input","questions":[{"field":"door","question":"Which?"}]}}]}`), 200, `{"ref":"DAY-001","status":"needs_input"}`)
	h.want(h.do("PATCH", one, agent, `{"mess":[{"answer":{"re":"last","value":"the left one"}}]}`), 200, `{"ref":"DAY-001","status":"in_progress"}`)

	up := h.do("PUT", one+"/attachments/door.png", phone, "\x89PNG\r\n\x1a\nxxxx", "Content-Type", "image/png")
	if up.code != 200 || up.field("mime") != "image/png" || up.field("size") != "12" {
		t.Fatalf("upload: %d %s", up.code, up.body)
	}
	h.want(h.do("PATCH", one, phone, `{"status":"completed","mess":[{"response":{"content":["It is closed.",{"image":`+up.body+`}]}}]}`), 200, `{"ref":"DAY-001","status":"completed"}`)
	name := regexp.MustCompile(`att-[^"]*\.png`).FindString(h.do("GET", one, agent, "").body)
	file := one + "/attachments/" + name
	if r := h.do("GET", file, agent, ""); r.code != 200 || r.head.Get("Content-Type") != "image/png" || r.head.Get("X-Content-Type-Options") != "nosniff" || len(r.body) != 12 {
		t.Errorf("attachment: %d %q %v", r.code, r.body, r.head)
	}
	if r := h.do("GET", file, agent, "", "Range", "bytes=1-3"); r.code != 206 || r.body != "PNG" {
		t.Errorf("a part of it: %d %q", r.code, r.body)
	}
	h.want(h.do("GET", one+"/attachments/other.png", agent, ""), 404, "")
	if r := h.do("GET", one+"/thread", agent, ""); r.code != 200 || !strings.Contains(r.body, "intent: Check if the garage door is closed") || !strings.Contains(r.body, "\n---\n") {
		t.Errorf("thread: %d %s", r.code, r.body)
	}
	h.want(h.do("GET", root+"/executors", agent, ""), 200, `{"executors":[{"id":"phone","display_name":"My Phone","capabilities":["take-photo",{"vacuum-floor":{"areas":["kitchen"]}}],"last_seen":"TIME","created_at":"TIME","live":true}]}`)
	h.want(h.do("PATCH", root+"/executors/phone", phone, `{"display_name":"Phone 2"}`), 200, `{"executor_id":"phone","updated":true}`)
	h.want(h.do("PATCH", root+"/executors/phone", agent, `{}`), 403, "")
	if r := h.do("GET", root+"/capabilities?tag=visual", agent, ""); !strings.Contains(r.body, `{"description":"Take a photo","id":"take-photo","tags":["visual"]}`) {
		t.Errorf("capabilities: %s", r.body)
	}
}

// Exactly one of many claims at the same time gets the thread.
func TestClaimsAreExclusive(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	agent := h.register("agent", "")
	const n = 12
	var actor [n]string
	for i := range n {
		actor[i] = h.register(fmt.Sprintf("phone-%d", i), `"x"`)
	}
	one := root + "/requests/" + h.create(agent, `{"intent":"look","requires":["x"]}`)
	var mu sync.Mutex
	count := map[int]int{}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			r := h.do("PATCH", one, actor[i], `{"status":"claimed"}`)
			mu.Lock()
			defer mu.Unlock()
			count[r.code]++
		})
	}
	wg.Wait()
	if count[200] != 1 || count[409] != n-1 {
		t.Errorf("answers: %v", count)
	}
}
