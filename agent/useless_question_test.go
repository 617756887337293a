package agent_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/agent/policy"
	"github.com/messkit/messkit/agent/policy/settings"
	"github.com/messkit/messkit/agent/task"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/mess"
)

// If no answer could lead to an act, the agent asks nothing: it declines the request with the
// reason that blocks the device.
func TestUselessQuestionIsNotAsked(t *testing.T) {
	withHarnessSetup(t, func(h *harness) {
		h.sentences["vacuum somewhere"] = capabilities.Outcome{Question: &capabilities.Clarification{Field: "area", Text: "where?", Options: []string{"stove", "both"}}}
		h.policyCfg.Devices = map[string]settings.Limits{"vacuum": {Locked: true}}
	}, func(h *harness) {
		ref := h.send(requester, "request: {intent: vacuum somewhere}")
		s := h.wantStatus(ref, mess.Declined)
		if s.Reason == nil || s.Reason.Type != "locked" || !strings.Contains(s.Reason.Detail, "vacuum: locked") {
			t.Errorf("declined with %+v", s.Reason)
		}
		if codes := h.statuses(ref); strings.Contains(codes, "needs_input") || strings.Contains(codes, "claimed") {
			t.Errorf("statuses are %s, want neither a question nor a claim", codes)
		}
	})
}

// A lockout after the first question also prevents the second one.
func TestLaterUselessQuestionIsNotAsked(t *testing.T) {
	locked := false
	r := answerTree{
		"":     {Question: &capabilities.Clarification{Field: "what", Options: []string{"rug"}}},
		"rug":  {Question: &capabilities.Clarification{Field: "area", Options: []string{"stove", "sink"}}},
		"sink": planOf(cleanPlan("sink")), "stove": planOf(cleanPlan("stove")),
	}
	check := func(capabilities.Plan) (policy.Decision, error) {
		if locked {
			return policy.Decision{}, &policy.Rejection{Device: "vacuum", Rule: "locked", Text: "wet paint"}
		}
		return policy.Decision{}, nil
	}
	if no := task.Unanswerable(r, check, *r[""].Question, mess.Request{}); no != nil {
		t.Errorf("without a lockout: %v, want nil", no)
	}
	locked = true
	if no := task.Unanswerable(r, check, *r[""].Question, mess.Request{}); no == nil || no.Rule != "locked" {
		t.Errorf("with all devices locked out: %v, want the rule locked", no)
	}
}

// The agent asks if one answer is executable, if the obstacle may be gone by the time of the
// answer, if it does not know the answers, or if there are too many.
func TestPossiblyUsefulQuestionIsAsked(t *testing.T) {
	refuse := func(rule string, but ...string) func(capabilities.Plan) (policy.Decision, error) {
		return func(p capabilities.Plan) (policy.Decision, error) {
			for _, free := range but {
				if p.Summary == "vacuum "+free {
					return policy.Decision{}, nil
				}
			}
			return policy.Decision{}, &policy.Rejection{Device: p.Device, Rule: rule, Retry: time.Second}
		}
	}
	two := []string{"sink", "stove"}
	r := answerTree{"sink": planOf(cleanPlan("sink")), "stove": planOf(cleanPlan("stove")), "no": {Refusal: &capabilities.Rejection{Reason: "nothing is done"}}}
	many := make([]string, 65)
	for i := range many {
		many[i] = two[i%2]
	}
	for name, c := range map[string]struct {
		options []string
		check   func(capabilities.Plan) (policy.Decision, error)
		want    string
	}{
		"all are locked":               {two, refuse("locked"), "locked"},
		"all are disarmed, or no":      {[]string{"no", "sink"}, refuse("disarmed"), "disarmed"},
		"it rests":                     {two, refuse("quiet_hours"), "quiet_hours"},
		"everything is stopped":        {two, refuse("stop"), "stop"},
		"one is free":                  {two, refuse("locked", "stove"), ""},
		"it is busy now":               {two, refuse("busy"), ""},
		"it acted a moment ago":        {two, refuse("min_interval"), ""},
		"it is answered in words":      {nil, refuse("locked"), ""},
		"only a no is left":            {[]string{"no"}, refuse("locked"), ""},
		"there are very many":          {many, refuse("locked"), ""},
		"the policy has other reasons": {two, func(capabilities.Plan) (policy.Decision, error) { return policy.Decision{}, errors.New("ouch") }, ""},
	} {
		got := ""
		if no := task.Unanswerable(r, c.check, capabilities.Clarification{Field: "area", Options: c.options}, mess.Request{}); no != nil {
			got = no.Rule
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func planOf(p capabilities.Plan) capabilities.Outcome { return capabilities.Outcome{Plan: &p} }

// answerTree maps answers to outcomes.
type answerTree map[string]capabilities.Outcome

func (t answerTree) Resolve(mess.Request) capabilities.Outcome { return t[""] }
func (t answerTree) Offers() []mess.Capability                 { return nil }
func (t answerTree) Places(string) []string                    { return nil }

func (t answerTree) Answer(_ capabilities.Clarification, _ mess.Object, text string, _ mess.Request) capabilities.Outcome {
	return t[text]
}
