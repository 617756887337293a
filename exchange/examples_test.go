package exchange_test

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	diff "github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
)

var update = flag.Bool("update", false, "write testdata/examples.txt anew")

// One exchange gets all example messages of MESS 1.0 and 1.1 and the threads of MESSE-AF 2.1, in
// the order of the documents (see ../mess/testdata and ../mess/messeaf/testdata for their
// source). The file testdata/examples.txt has the result of each message.
func TestSpecificationExamples(t *testing.T) {
	var b strings.Builder
	b.WriteString(legend)
	withHarness(t, func(in *harness) {
		h := &exampleRunner{harness: in, called: map[string]string{}, agent: agent}
		for _, id := range performers {
			h.register(exchange.Actor{ID: id, Roles: exchange.ExecutorRole}, "take-photo, check-visual, vacuum-floor, home-kitchen-access, 3d-print-fdm, assembly, precision-knife-work, operate-appliance, fabricator, precision-manipulation")
		}
		for _, version := range []string{"1.0", "1.1"} {
			for _, name := range filesBySection(t, filepath.Join("..", "mess", "testdata", "vectors", version)) {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(string(text), "# wrap:") || strings.Contains(string(text), "# schema") || !strings.Contains(string(text), "MESS:") {
					continue // no message, or one without its values
				}
				for i, doc := range strings.Split(string(text), "\n---\n") {
					m, err := mess.Parse([]byte(doc))
					if err != nil {
						t.Errorf("%s: %v", name, err)
						continue
					}
					fmt.Fprintf(&b, "%s/%s.%d %s\n", version, strings.TrimSuffix(filepath.Base(name), ".yaml"), i+1, h.postAsSender(m))
				}
			}
		}
		h.send(exchange.Actor{ID: "teague-phone", Roles: exchange.ExecutorRole}, "config: {executor: {id: teague-phone, capabilities: [take-photo], availability: always}}") // at any hour: section 8.3 says from 8 to 22
		fragments, err := os.ReadFile(filepath.Join("..", "mess", "messeaf", "testdata", "fragments.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		for i, doc := range strings.Split(string(fragments), "\n---\n") {
			m, err := mess.Parse([]byte(doc))
			if err != nil {
				t.Errorf("fragment %d: %v", i+1, err)
				continue
			}
			fmt.Fprintf(&b, "2.1/fragments.%d %s\n", i+1, h.postInThread(m, "2026-02-01-003-check-fridge"))
		}
		for _, name := range []string{"structure", "complete", "needs-input"} {
			text, err := os.ReadFile(filepath.Join("..", "mess", "messeaf", "testdata", name+".messe-af.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			thread, err := messeaf.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			h.agent = exchange.Actor{ID: "agent-of-" + name, Roles: exchange.Requester} // two of them have one id
			delete(h.called, thread.Envelope.Ref)
			for i, m := range thread.Messages {
				fmt.Fprintf(&b, "2.1/%s.%d %s\n", name, i+1, h.postInThread(m, thread.Envelope.Ref))
			}
		}
	})
	golden := filepath.Join("testdata", "examples.txt")
	if *update {
		if err := errors.Join(os.MkdirAll("testdata", 0o755), os.WriteFile(golden, []byte(b.String()), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if d := diff.Diff(string(want), b.String()); d != "" {
		t.Errorf("results of the examples (-%s +now); check them, then run: go test ./exchange -run TestSpecificationExamples -update\n%s", golden, d)
	}
}

// legend explains the refusals.
const legend = `# What each example message of MESS 1.0, MESS 1.1 and MESSE-AF 2.1 comes to, in the order of the documents.
# unknown: no request of the document has that id, or "last" is of an actor who has made none.
# invalid: the data of an image are left out ("/9j/4AAQ..."), a yes is for "last", or the exchange does not carry a merge out.
# illegal: what the message answers has ended or was not asked, or a request that depends on others reports before them.
`

// exampleRunner post the messages of the documents.
type exampleRunner struct {
	*harness
	called map[string]string // refs of this exchange, by refs of a document
	names  string            // the ref that a document has for the thread
	agent  exchange.Actor    // the requester
}

// performers are the executors of the examples.
var performers = []string{
	"instacart-proxy", "kitchen-robot", "patio-camera", "roomba", "cleanup-bot", "prusa-mk4", "indoor-robot", "household:teague-phone",
	"household:kitchen-helper", "home-assistant", "teague-phone", "roomba-kitchen",
}

// filesBySection are the files of a folder by section and place: 4.4-2 before 10-1.
func filesBySection(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(names) == 0 {
		t.Fatalf("%s: nothing there (%v)", dir, err)
	}
	place := func(name string) (n []int) {
		for part := range strings.FieldsFuncSeq(strings.TrimSuffix(filepath.Base(name), ".yaml"), func(r rune) bool { return r == '.' || r == '-' }) {
			k, err := strconv.Atoi(strings.TrimRight(part, "abcdefghijklmnopqrstuvwxyz"))
			if err != nil && part != "" && len(n) == 0 {
				k = 1000 // the appendix
			}
			n = append(n, k)
		}
		return n
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(slices.Compare(place(a), place(b)), strings.Compare(a, b)) })
	return names
}

// postInThread posts a message of a thread. It replaces the refs of the document by those of this
// exchange.
func (h *exampleRunner) postInThread(m mess.Message, ref string) string {
	for k := range m.Re {
		m.Re[k] = cmp.Or(h.called[m.Re[k]], h.called[ref], m.Re[k])
	}
	h.names = ref
	return h.postAsSender(m)
}

// postAsSender posts a message as its sender, and returns the result. Before a report it makes the request
// that the document only names, and claims it for the executor.
func (h *exampleRunner) postAsSender(m mess.Message) string {
	actor, does := h.agent, ""
	for _, item := range m.Items {
		does = cmp.Or(does, strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", item), "*mess.")))
		switch i := item.(type) {
		case *mess.Ack:
			return "ack: the exchange says it"
		case *mess.Config:
			if i.Executor != nil && len(m.Items) == 1 {
				actor = exchange.Actor{ID: i.Executor.ID, Roles: exchange.ExecutorRole}
			} else {
				actor = person
			}
		case *mess.Status:
			actor = h.claimHolder(cmp.Or(i.Executor, m.From), firstRef(m, i.Re), i.Code)
		case *mess.Response:
			if actor.ID == h.agent.ID {
				actor = h.claimHolder(cmp.Or(i.Executor, m.From), firstRef(m, i.Re), mess.Completed)
			}
		case *mess.Suggestion:
			actor = h.claimHolder("instacart-proxy", firstRef(m, i.Re), mess.InProgress)
		}
	}
	if m.From == "exchange" {
		return does + ": the exchange says it"
	}
	m.From, m.Received, m.Channel, m.Ref = "", "", "", ""
	answer, err := h.x.Post(h.t.Context(), exchange.Inbound{Actor: actor, Channel: "test", Message: m})
	if r, ok := errors.AsType[*mess.Error](err); ok {
		if r.Code == mess.Unavailable {
			h.t.Errorf("%s: %v", does, r)
		}
		return fmt.Sprintf("%s: refused, %s", does, r.Code)
	}
	if err != nil {
		h.t.Errorf("%s: %v", does, err)
	}
	came := ""
	for _, item := range answer.Items {
		if a, ok := item.(*mess.Ack); ok && a.Status != "" {
			came = ", " + string(a.Status)
			if does == "request" {
				h.called[h.names] = a.Ref
			}
		}
	}
	return does + ": taken" + came
}

// firstRef is the first request that a message names.
func firstRef(m mess.Message, re mess.Refs) string {
	for _, name := range slices.Concat(re, m.Re) {
		return name
	}
	return ""
}

// claimHolder returns an executor that has claimed a request, so that it may report the code.
func (h *exampleRunner) claimHolder(id, name string, code mess.Code) exchange.Actor {
	actor := exchange.Actor{ID: cmp.Or(id, "kitchen-robot"), Roles: exchange.ExecutorRole}
	if name == "" || name == mess.Last {
		return actor
	}
	t, err := h.x.Thread(h.t.Context(), h.agent, name)
	if err != nil || t.Status.Terminal() {
		h.post(h.agent, "request: {id: \""+name+"\", intent: an example}")
		if t, err = h.x.Thread(h.t.Context(), h.agent, name); err != nil {
			return actor
		}
	}
	report := func(code mess.Code) {
		h.post(actor, "status: {re: "+t.Ref+", code: "+string(code)+"}")
	}
	if t.Executor == "" && code != mess.Claimed && code != mess.Declined {
		report(mess.Claimed)
	}
	if t.Executor != "" {
		actor.ID = t.Executor
	}
	if slices.Contains([]mess.Code{mess.Completed, mess.Partial, mess.Failed}, code) && t.Phase != exchange.Started {
		report(mess.InProgress)
	}
	return actor
}
