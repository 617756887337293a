package exchange_test

import (
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/mess"
)

// askConfirmation sends a request that the executor must begin within a minute, and that gives a
// person five minutes to confirm. The executor has claimed it, and asks after 50 s.
func (h *harness) askConfirmation(more string) string {
	h.t.Helper()
	h.register(kitchen, "operate-valve")
	ref := h.send(agent, "request: {intent: close the valve, needed_by: '"+time.Now().Add(time.Minute).Format(time.RFC3339)+"'"+more+"}").Ref
	h.send(kitchen, "status: {re: "+ref+", code: claimed}")
	h.sendHeartbeats(kitchen, ref, "1", 50*time.Second)
	h.send(kitchen, "re: "+ref+"\nepoch: 1\nMESS: [{status: {code: needs_confirmation, action: close the valve, action_hash: d1}}]")
	return ref
}

const startValve = "\nepoch: 1\nMESS: [{status: {code: in_progress, action_hash: d1}}]"

// A request with decide_within does not expire while a person decides. After the confirmation the
// executor must begin as soon as it had to after the request, so that nothing acts late.
func TestConfirmationHasTimeOfItsOwn(t *testing.T) {
	for name, c := range map[string]struct {
		more          string
		confirmAfter  time.Duration // after the question
		startAfter    time.Duration // after the confirmation
		expired, late bool
	}{
		"without it":        {"", 20 * time.Second, 0, true, false},
		"in time":           {", decide_within: 5m", 4 * time.Minute, 50 * time.Second, false, false},
		"unanswered":        {", decide_within: 5m", 6 * time.Minute, 0, true, false},
		"the start is late": {", decide_within: 5m", 4 * time.Minute, 70 * time.Second, false, true},
	} {
		t.Run(name, func(t *testing.T) {
			withHarness(t, func(h *harness) {
				ref := h.askConfirmation(c.more)
				h.sendHeartbeats(kitchen, ref, "1", c.confirmAfter)
				if c.expired {
					h.wantStatus(ref, mess.Expired)
					h.wantError(agent, "reply: {re: "+ref+", confirm: true}", mess.IllegalTransition)
					return
				}
				h.wantStatus(ref, mess.NeedsConfirmation)
				h.wantError(kitchen, "re: "+ref+startValve, mess.Unconfirmed)
				h.send(agent, "reply: {re: "+ref+", confirm: true}")
				h.sendHeartbeats(kitchen, ref, "1", c.startAfter)
				if c.late {
					h.wantStatus(ref, mess.Expired)
					h.wantError(kitchen, "re: "+ref+startValve, mess.IllegalTransition)
					return
				}
				h.send(kitchen, "re: "+ref+startValve)
				h.wantStatus(ref, mess.InProgress)
			})
		})
	}
}

// An executor that is lost while a person decides leaves no extended time to the next one, which may
// need no confirmation.
func TestLostClaimEndsTimeForConfirmation(t *testing.T) {
	withHarness(t, func(h *harness) {
		ref := h.askConfirmation(", decide_within: 1h")
		h.advance(20 * time.Minute) // without a heartbeat
		h.wantStatus(ref, mess.Expired)
	})
}

func TestDecideWithinIsChecked(t *testing.T) {
	withHarness(t, func(h *harness) {
		for _, value := range []string{"soon", "0s", "-5m", "2h", "5", "[5m]"} {
			h.wantError(agent, "request: {intent: close the valve, needed_by: '2126-11-21T12:00:00Z', decide_within: "+value+"}", mess.Invalid, "decide_within: not a duration from 1s to 1h")
		}
		h.register(kitchen, "operate-valve")
		ref := h.send(agent, "request: {intent: "+strings.Repeat("close ", 3)+", decide_within: 5m}").Ref // it never expires
		h.advance(time.Hour)
		h.wantStatus(ref, mess.Pending)
	})
}
