package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/channel/httpapi"
)

// The server keeps all fields of a request, known or unknown.
func TestRequestKeepsAllFields(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	agent := h.register("agent", "")
	const request = `{"id":"r-1","intent":"Look <here> & there","precision":"exact","requires":["take-photo",{"vacuum-floor":{"areas":["kitchen"]}}],
		"constraints":{"location":"kitchen","timing":{"urgency":"soon"},"x_constraint":1},"needed_by":"2099-01-01T00:00:00Z","confirm_before":true,
		"response_hint":["image",{"text":"one line"}],"compensation":{"shells":3,"x_note":null},"priority":"urgent",
		"context":["a",{"url":"https://example.com/x"},{"x_kind":{"deep":[1,2.50,true]}}],"x_unknown":{"deep":{"er":[[]]}}}`
	ref := h.create(agent, request)
	var got struct {
		Thread struct {
			Priority string
			Messages []struct {
				From, TS, Ref string
				MESS          []map[string]any
			}
		}
	}
	r := h.do("GET", root+"/requests/"+ref, agent, "")
	if err := json.Unmarshal([]byte(r.body), &got); err != nil || len(got.Thread.Messages) == 0 {
		t.Fatalf("%s: %v", r.body, err)
	}
	var want map[string]any
	if err := json.Unmarshal([]byte(request), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Thread.Messages[0].MESS[0]["request"]); diff != "" {
		t.Errorf("the request has changed (-sent +kept):\n%s", diff)
	}
	if got.Thread.Priority != "urgent" {
		t.Errorf("priority %s", got.Thread.Priority)
	}
	if !strings.Contains(r.body, "Look <here> & there") {
		t.Errorf("letters are written in codes: %s", r.body)
	}
}

// A message of a thread leads to the thread, its slash escaped.
func TestThreadByRefOfMessage(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone := h.register("phone", `"x"`)
	ref := h.create(phone, `{"id":"own","intent":"look","requires":["x"]}`)
	h.want(h.do("PATCH", root+"/requests/"+ref, phone, `{"status":"claimed"}`), 200, "")
	var got struct {
		Thread struct{ Messages []struct{ Ref string } }
	}
	if err := json.Unmarshal([]byte(h.do("GET", root+"/requests/"+ref, phone, "").body), &got); err != nil {
		t.Fatal(err)
	}
	i := len(got.Thread.Messages) - 2 // before the ack
	message := got.Thread.Messages[i].Ref
	if !strings.HasPrefix(message, ref+"/") {
		t.Fatalf("the claim is called %q", message)
	}
	for _, name := range []string{ref, message, "own", "last"} {
		if r := h.do("GET", root+"/requests/"+url.PathEscape(name), phone, ""); !strings.Contains(r.body, `"ref":"`+ref+`"`) {
			t.Errorf("%s: %d %s", name, r.code, r.body)
		}
	}
}

func TestLists(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone, agent, other := h.register("phone", `"x"`), h.register("agent", ""), h.register("other", "")
	var refs []string
	for i := range 5 {
		refs = append(refs, h.create(agent, fmt.Sprintf(`{"intent":"look %d","requires":["x"]}`, i)))
	}
	h.create(other, `{"intent":"something else","requires":["z"]}`)
	h.want(h.do("PATCH", root+"/requests/"+refs[1], phone, `{"status":"claimed"}`), 200, "")
	h.want(h.do("PATCH", root+"/requests/"+refs[1], phone, `{"status":"in_progress"}`), 200, "")
	list := func(key, query string) (got []string, cursor string) {
		t.Helper()
		var v struct {
			Threads []struct{ Ref string }
			Cursor  string
		}
		r := h.do("GET", root+"/requests?"+query, key, "")
		if err := json.Unmarshal([]byte(r.body), &v); err != nil || r.code != 200 {
			t.Fatalf("%s: %d %s", query, r.code, r.body)
		}
		for _, one := range v.Threads {
			got = append(got, one.Ref)
		}
		return got, v.Cursor
	}
	newestFirst := []string{refs[1], refs[4], refs[3], refs[2], refs[0]}
	for _, c := range []struct {
		query string
		want  []string
	}{
		{"", newestFirst},
		{"status=", newestFirst},
		{"status=in-progress", refs[1:2]},
		{"status=in_progress&status=completed", refs[1:2]},
		{"status=pending&limit=1", refs[4:5]},
		{"executor=phone", refs[1:2]},
		{"requestor=agent", newestFirst},
		{"capability=x", newestFirst},
		{"capability=x&status=pending&limit=1", refs[4:5]},
		{"capability=y", nil},
		{"capability=z", nil}, // of other, which agent does not see
		{"device=vm:lamp", nil},
		{"requestor=other", nil}, // which agent does not see
		{"since=2099-01-01T00:00:00Z", nil},
		{"since=2001-01-01T00:00:00%2B02:00&x_unknown=1", newestFirst},
	} {
		if got, _ := list(agent, c.query); !cmp.Equal(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.query, got, c.want)
		}
	}
	if got, _ := list(h.op, ""); len(got) != 6 {
		t.Errorf("the operator sees %v", got)
	}
	if got, _ := list(h.op, "capability=z"); len(got) != 1 {
		t.Errorf("the operator sees %v that require z", got)
	}
	var paged []string
	for cursor, pages := "", 0; ; pages++ {
		got, next := list(agent, "limit=2&cursor="+url.QueryEscape(cursor))
		paged = append(paged, got...)
		if cursor = next; cursor == "" || pages > 9 {
			break
		}
	}
	if !cmp.Equal(paged, newestFirst) {
		t.Errorf("page by page: %v, want %v", paged, newestFirst)
	}
	h.want(h.do("GET", root+"/requests?cursor=x", agent, ""), 400, "")
	h.want(h.do("GET", root+"/requests?since=yesterday", agent, ""), 400, "")
}

// A response lists the unknown fields of a request, which the exchange stores.
func TestUnknownRequestFieldsAreListed(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	h.want(h.do("POST", root+"/requests", h.op, `{"intent":"look","requres":["x"],"attachments":[],"constraints":{"whre":"x","timing":{"not_befor":"2030-01-01T00:00:00Z"}}}`), 201,
		`{"queue_position":1,"ref":"DAY-001","status":"pending","unknown":["requres","constraints.whre","constraints.timing.not_befor"]}`)
	h.want(h.do("PATCH", root+"/requests/last", h.op, `{"mess":[{"repyl":{"confirm":true}}]}`), 200, `{"ref":"DAY-001","status":"pending","unknown":["mess.repyl"]}`)
}

// A candidate claims a thread just after its cancel: the error has the status cancelled. Another
// executor gets 404.
func TestClaimAfterCancelIsRejected(t *testing.T) {
	h := startHarness(t, httpapi.Config{})
	phone, other := h.register("phone", `"x"`), h.register("other", `"y"`)
	ref := h.create(h.op, `{"intent":"look","requires":["x"]}`)
	h.do("PATCH", root+"/requests/"+ref, h.op, `{"status":"cancelled"}`)
	r := h.do("PATCH", root+"/requests/"+ref, phone, `{"status":"claimed"}`)
	if h.wantReadableError("late", r, 409); r.field("status") != "cancelled" {
		t.Error(r.body)
	}
	h.wantReadableError("no business of its own", h.do("PATCH", root+"/requests/"+ref, other, `{"status":"claimed"}`), 404)
}
