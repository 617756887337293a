package agentmail_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail"
	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/exchange/store/memory"
)

var orchestrator = exchange.Actor{ID: boss, Roles: exchange.Requester}

// overHTTP returns a fixture without a mail server.
func overHTTP(t testing.TB) *fixture {
	return newFixture(t, nil, "", agentmail.Config{On: true, Zones: map[string][]string{"kitchen": {"lamp", "vacuum"}, "hall": {"door"}}})
}

// calls makes a request of an actor to the adapter.
func (h *fixture) calls(who exchange.Actor, method, query, body string) (int, string) {
	h.Helper()
	r := httptest.NewRequestWithContext(h.ctx, method, agentmail.Path+query, strings.NewReader(body))
	w := httptest.NewRecorder()
	h.adapter.Serve(who, w, r)
	if !json.Valid(w.Body.Bytes()) {
		h.Errorf("%s %s: %q is not JSON", method, query, w.Body)
	}
	return w.Code, w.Body.String()
}

// fetches fetches messages until they are ready.
func (h *fixture) fetches(who exchange.Actor, ready func([]format.Message) bool) []format.Message {
	h.Helper()
	var all []format.Message
	after := uint64(0)
	for h.ctx.Err() == nil {
		code, text := h.calls(who, http.MethodGet, fmt.Sprintf("?after=%d&wait=10s", after), "")
		var got struct {
			Messages []struct {
				Seq     uint64
				Message json.RawMessage
			}
			Next uint64
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || code != http.StatusOK {
			h.Fatalf("%d %s %v", code, text, err)
		}
		for _, one := range got.Messages {
			m, err := format.Parse(string(one.Message), format.Mail{}, format.Strict)
			if err != nil || one.Seq <= after {
				h.Errorf("%d %s: %v", one.Seq, one.Message, err)
			}
			all = append(all, m)
		}
		if after = got.Next; ready(all) {
			return all
		}
	}
	h.Fatalf("not there: %v", all)
	return nil
}

func ends(all []format.Message) bool {
	return len(all) > 0 && all[len(all)-1].Type == format.TypeTaskCompletion
}

func TestOverHTTP(t *testing.T) {
	h := overHTTP(t)
	code, text := h.calls(orchestrator, http.MethodPost, "", assignment("msg-1", "bd-1", "photo"))
	if code != http.StatusAccepted || !strings.Contains(text, `"task_id":"bd-1","ref":"2`) {
		t.Fatalf("%d %s", code, text)
	}
	if again, same := h.calls(orchestrator, http.MethodPost, "", assignment("msg-1", "bd-1", "photo")); again != code || refIn(same) != refIn(text) {
		t.Errorf("%d %s, was %s", again, same, text)
	}
	all := h.fetches(orchestrator, ends)
	if c := all[len(all)-1].Body.(*format.TaskCompletion); c.Status != "complete" || !strings.Contains(asText(t, all[len(all)-1]), "data:image/jpeg;base64,") {
		t.Errorf("%+v", c)
	}
	if _, text := h.calls(anna, http.MethodGet, "", ""); !strings.Contains(text, `"messages":[]`) {
		t.Errorf("another one gets %s", text)
	}
	// A question that no client has fetched is still there after a restart. The duplicate above can
	// repeat the completion of bd-1 at any time.
	h.calls(orchestrator, http.MethodPost, "", assignment("msg-2", "bd-2", "confirm"))
	isQuestion := func(all []format.Message) bool {
		return slices.ContainsFunc(all, func(m format.Message) bool {
			return m.Type == format.TypeStatusUpdate && strings.Contains(asText(t, m), "needs confirmation")
		})
	}
	h.fetches(orchestrator, isQuestion)
	h.end()
	h.open()
	if code, text := h.calls(orchestrator, http.MethodPost, "", saying("m-1", "bd-2", "2026-01-01T00:00:00Z", `"reply":{"confirm":true}`)); code != http.StatusConflict || !strings.Contains(text, "stale_answer") {
		t.Errorf("%d %s", code, text)
	}
	if code, text := h.calls(orchestrator, http.MethodPost, "", saying("m-3", "bd-2", now(), `"reply":{"confirm":true}`)); code != http.StatusConflict || !strings.Contains(text, "name it in metadata.mess.reply.re: msg-") {
		t.Errorf("%d %s", code, text)
	}
	if code, text := h.calls(orchestrator, http.MethodPost, "", saying("m-2", "bd-2", now(), `"reply":{"confirm":true,"action_hash":"abc"}`)); code != http.StatusAccepted {
		t.Errorf("%d %s", code, text)
	}
	h.fetches(orchestrator, func(all []format.Message) bool {
		return slices.ContainsFunc(all, func(m format.Message) bool {
			return m.Type == format.TypeTaskCompletion && format.TaskOf(m.Body) == "bd-2"
		})
	})
	if n := len(h.Acts()); n != 2 {
		t.Errorf("%d were done", n)
	}
}

func refIn(text string) string {
	var got struct{ Ref string }
	_ = json.Unmarshal([]byte(text), &got) // "" is compared
	return got.Ref
}

func asText(t *testing.T, m format.Message) string {
	data, err := m.JSON()
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// Every bad request gets an error, and none is an internal error.
func TestInvalidHTTPRequests(t *testing.T) {
	h := overHTTP(t)
	good := assignment("msg-1", "bd-1", "photo")
	for _, one := range []struct {
		method, query, body string
		code                int
		wantText            string
	}{
		{http.MethodPost, "", "turn on the light", 422, "send a task_assignment"},
		{http.MethodPost, "", "", 422, "invalid_format"},
		{http.MethodPost, "", "{}", 422, "Missing required field: type"},
		{http.MethodPost, "", `[1]`, 422, "invalid_format"},
		{http.MethodPost, "", strings.Repeat("[", 1000), 422, "invalid_format"},
		{http.MethodPost, "", good[:40], 422, "invalid_format"},
		{http.MethodPost, "", strings.Replace(good, boss, "other", 1), 422, "sender_mismatch"},
		{http.MethodPost, "", strings.Replace(good, "1.0.0", "3.0.0", 1), 422, `"supported":"1.0.0"`},
		{http.MethodPost, "", strings.Replace(good, "task_assignment", "error_report", 1), 422, "invalid_format"},
		{http.MethodPost, "", strings.Repeat("x", 11<<20), 413, "too_large"},
		{http.MethodPost, "", saying("m", "bd-9", now(), `"cancel":{}`), 404, "unknown_task"},
		{http.MethodPost, "", strings.Replace(saying("m", "bd-9", now(), `"cancel":{}`), `"sync"`, `"handoff"`, 1), 404, "unknown_task"},
		{http.MethodPost, "", `{"version":"1.0.0","timestamp":"2026-11-22T00:00:00Z","sender_id":"` + boss + `","message_id":"m","type":"coordination_request","request_type":"handoff","participants":["x"],"coordination_topic":"take over"}`, 422, "not_supported"},
		{http.MethodPut, "", good, 405, "method_not_allowed"},
		{http.MethodGet, "?after=x", "", 400, "after"},
		{http.MethodGet, "?wait=5h", "", 400, "wait"},
		{http.MethodDelete, "?device=lamp", "", 403, "operator"},
	} {
		code, text := h.calls(orchestrator, one.method, one.query, one.body)
		if code != one.code || !strings.Contains(text, one.wantText) {
			t.Errorf("%s %s %.60q: %d %s", one.method, one.query, one.body, code, text)
		}
		if strings.Contains(one.body, "error_report") && strings.Contains(text, `"report"`) {
			t.Errorf("an error report is answered by one: %s", text)
		}
	}
	if code, text := h.calls(exchange.Actor{ID: boss, Roles: exchange.Observer}, http.MethodPost, "", good); code != http.StatusForbidden {
		t.Errorf("%d %s", code, text)
	}
	if len(h.Acts()) != 0 {
		t.Error("something was done")
	}
}

// reservation returns a request to reserve zones.
func reservation(who, id, mode, pattern string, minutes float64, more string) string {
	return fmt.Sprintf(`{"version":"1.0.0","timestamp":"2026-11-22T00:00:00Z","sender_id":"%s","message_id":"%s","type":"file_reservation","task_id":"job-%s",
"reservation_request":{"mode":"%s","file_patterns":["%s"],"duration_minutes":%g}%s}`, who, id, who, mode, pattern, minutes, more)
}

func TestZones(t *testing.T) {
	h := overHTTP(t)
	bert := exchange.Actor{ID: "bert", Roles: exchange.Requester}
	for i, one := range []struct {
		actor         exchange.Actor
		mode, pattern string
		more          string
		code          int
		wantText      string
	}{
		{anna, "exclusive", "zone/kitchen/**", "", 202, "exclusive: zone/kitchen/** (lamp, vacuum)"},
		{bert, "exclusive", "device/vacuum", "", 409, "vacuum is reserved by anna until"},
		{bert, "shared_read", "zone/kitchen/lamp", "", 409, "lamp is reserved by anna"},
		{bert, "exclusive", "zone/kitchen", `,"alternatives":[{"pattern":"zone/hall","mode":"shared_read"}]`, 202, "alternative: reserved until"},
		{anna, "shared_write", "zone/hall/*", "", 202, "shared: zone/hall/*"},
		{anna, "exclusive", "zone/hall", "", 409, "door is reserved by bert"},
		{anna, "exclusive", "src/**/*.go", "", 422, "there is no such zone or device; zones: hall, kitchen"},
	} {
		code, text := h.calls(one.actor, http.MethodPost, "", reservation(one.actor.ID, fmt.Sprint("r-", i), one.mode, one.pattern, 30, one.more))
		if code != one.code || !strings.Contains(text, one.wantText) {
			t.Errorf("%d: %d %s", i, code, text)
		}
	}
	h.end()
	h.open() // the adapter has stored the reservations
	for _, one := range []struct {
		device, by string
		held       bool
	}{{"lamp", "bert", true}, {"lamp", "operator", true}, {"lamp", "anna", false}, {"door", "operator", false}, {"oven", "bert", false}} {
		if _, until, _, held := h.adapter.Reserved(one.device, one.by); held != one.held || held && time.Until(until) > 31*time.Minute {
			t.Errorf("%s for %s: %v until %v", one.device, one.by, held, until)
		}
	}
	_, _, changed, _ := h.adapter.Reserved("lamp", "bert")
	if code, text := h.calls(anna, http.MethodPost, "", strings.NewReplacer("BODY", "job-anna").Replace(
		`{"version":"1.0.0","timestamp":"2026-11-22T00:00:00Z","sender_id":"anna","message_id":"c-1","type":"task_completion","task_id":"BODY","status":"complete","completion_summary":"","files_modified":[],"test_results":{},"errors_encountered":[]}`)); code != http.StatusAccepted {
		t.Errorf("%d %s", code, text)
	}
	<-changed
	if _, _, _, held := h.adapter.Reserved("lamp", "bert"); held {
		t.Error("the reservation of a task remains after its end")
	}
	if code, text := h.calls(bert, http.MethodPost, "", reservation("bert", "r-9", "exclusive", "zone/kitchen", 0.00001, "")); code != http.StatusAccepted {
		t.Errorf("%d %s", code, text)
	}
	for held := true; held && h.ctx.Err() == nil; { // for under a millisecond
		_, _, _, held = h.adapter.Reserved("lamp", "anna")
	}
	if _, _, _, held := h.adapter.Reserved("lamp", "anna"); held {
		t.Error("a reservation outlives its time")
	}
	h.fetches(bert, func(all []format.Message) bool {
		for _, m := range all {
			if u, ok := m.Body.(*format.StatusUpdate); ok && u.UpdateType == "milestone" && format.InReplyTo(u) == "r-3" {
				return true
			}
		}
		return false
	})
	shares := `{"version":"1.0.0","timestamp":"2026-11-22T00:00:00Z","sender_id":"anna","message_id":"s-1","type":"coordination_request","request_type":"parallel_execution","participants":["anna","bert"],
"coordination_topic":"paint","shared_resources":[{"type":"zone","patterns":["zone/kitchen/**"],"access_mode":"read_write"}],"schedule":{"duration_minutes":10}}`
	if code, text := h.calls(anna, http.MethodPost, "", shares); code != http.StatusAccepted || !strings.Contains(text, "shared: zone/kitchen") {
		t.Errorf("%d %s", code, text)
	}
	if code, text := h.calls(operator, http.MethodDelete, "?device=lamp", ""); code != http.StatusOK || !strings.Contains(text, "anna") {
		t.Errorf("%d %s", code, text)
	}
}

// An actor that may request nothing reserves nothing, and every reservation ends.
func TestOnlyRequestersReserve(t *testing.T) {
	h := overHTTP(t)
	shares := `{"version":"1.0.0","timestamp":"2026-11-22T00:00:00Z","sender_id":"eve","message_id":"s-1","type":"coordination_request","request_type":"parallel_execution","participants":["eve"],
"coordination_topic":"paint","shared_resources":[{"type":"zone","patterns":["zone/kitchen/**"],"access_mode":"read_write"}]}`
	for _, roles := range []exchange.Role{exchange.Observer, exchange.ExecutorRole, exchange.Observer | exchange.ExecutorRole} {
		eve := exchange.Actor{ID: "eve", Roles: roles}
		for _, body := range []string{reservation("eve", "r", "exclusive", "zone/**", 30, ""), reservation("eve", "r-2", "shared_read", "zone/kitchen", 30, ""), shares} {
			if code, text := h.calls(eve, http.MethodPost, "", body); code != http.StatusForbidden || !strings.Contains(text, "reserve nothing") {
				t.Errorf("%v: %d %s", roles, code, text)
			}
		}
	}
	if by, _, _, held := h.adapter.Reserved("lamp", "operator"); held {
		t.Errorf("the lamp is reserved by %s", by)
	}
	for i := range 65 {
		code, text := h.calls(anna, http.MethodPost, "", reservation("anna", fmt.Sprint("r-", i), "exclusive", "zone/kitchen", 30, ""))
		if want := map[bool]int{true: http.StatusAccepted, false: http.StatusConflict}[i < 64]; code != want {
			t.Fatalf("%d: %d %s", i, code, text)
		}
	}
}

// A coordination request about tasks gets an answer with their status, and an answer gets none.
func TestCoordinationEnds(t *testing.T) {
	h := overHTTP(t)
	h.calls(orchestrator, http.MethodPost, "", assignment("msg-1", "bd-1", "wait"))
	sync := func(id, metadata string) string {
		return `{"version":"1.0.0","timestamp":"2026-11-22T00:00:00Z","sender_id":"` + boss + `","message_id":"` + id + `","type":"coordination_request","request_type":"sync","participants":["x"],"coordination_topic":"how is it?","metadata":{` + metadata + `}}`
	}
	if code, text := h.calls(orchestrator, http.MethodPost, "", sync("s-1", "")); code != http.StatusAccepted {
		t.Errorf("%d %s", code, text)
	}
	h.fetches(orchestrator, func(all []format.Message) bool {
		for _, m := range all {
			if c, ok := m.Body.(*format.CoordinationRequest); ok && format.InReplyTo(c) == "s-1" && strings.Contains(c.Topic, "bd-1 is ") {
				return true
			}
		}
		return false
	})
	if code, text := h.calls(orchestrator, http.MethodPost, "", sync("s-2", `"in_reply_to":"m"`)); code != http.StatusAccepted || !strings.Contains(text, "noted") {
		t.Errorf("%d %s", code, text)
	}
	if code, text := h.calls(orchestrator, http.MethodPost, "", sync("s-3", `"task_id":"bd-1"`)); code != http.StatusAccepted || refIn(text) == "" {
		t.Errorf("%d %s", code, text)
	}
}

// FuzzTake: any request over HTTP gets a JSON answer that accepts or rejects it, and never an
// internal error.
func FuzzTake(f *testing.F) {
	f.Add(assignment("msg-1", "bd-1", "photo"))
	f.Add(saying("m-1", "bd-1", "2026-01-01T00:00:00Z", `"reply":{"confirm":true,"re":["x/y"]}`))
	f.Add(reservation(boss, "r", "exclusive", "zone/kitchen/[", 1, ""))
	f.Add("yes")
	x, err := exchange.Open(f.Context(), exchange.DefaultConfig(), memory.New(), time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		f.Fatal(err)
	}
	// No other goroutine runs. The coverage of an input still depends on earlier inputs. So run the
	// test with -fuzzminimizetime 10x, as make fuzz does.
	d, err := agentmail.Open(f.Context(), x, agentmail.Config{On: true, Lenient: true, Poll: time.Second, MaxZone: time.Hour, Zones: map[string][]string{"kitchen": {"lamp"}}}, nil, f.TempDir(), time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, body string) {
		r := httptest.NewRequest(http.MethodPost, agentmail.Path, strings.NewReader(body))
		w := httptest.NewRecorder()
		d.Serve(orchestrator, w, r)
		if w.Code >= 500 || !json.Valid(w.Body.Bytes()) {
			t.Errorf("%q: %d %s", body, w.Code, w.Body)
		}
	})
}
