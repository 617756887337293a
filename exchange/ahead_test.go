package exchange_test

import (
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/memory"
	"github.com/messkit/messkit/mess"
)

// ahead makes a request that may depend on later requests.
func (h *house) ahead(text string) (mess.Ack, error) {
	h.t.Helper()
	m, err := mess.Parse([]byte(text))
	if err != nil {
		h.t.Fatal(err)
	}
	answer, err := h.x.Post(h.t.Context(), exchange.Inbound{Actor: agent, Channel: "test", Message: m, DependsOnLater: true})
	if err != nil {
		return mess.Ack{}, err
	}
	return *answer.Items[0].(*mess.Ack), nil
}

// mustAhead is ahead for a request that the exchange must accept. It returns the ref.
func (h *house) mustAhead(text string) string {
	h.t.Helper()
	ack, err := h.ahead(text)
	if err != nil {
		h.t.Fatal(err)
	}
	return ack.Ref
}

// A request may come before the one that it depends on: it waits for it, also over a
// restart, and a dependency that fails ends it.
func TestRequestWaitsForUnknownDependency(t *testing.T) {
	store := memory.New()
	inHouseOver(t, store, exchange.DefaultConfig(), func(h *house) {
		h.registers(kitchen, "cook")
		second := h.mustAhead("request: {id: second, intent: cook, constraints: {depends_on: [first]}}")
		third := h.mustAhead("request: {id: third, intent: eat, constraints: {depends_on: [second, other]}}")
		h.refuses(kitchen, "status: {re: "+second+", code: claimed}", mess.NotYet, "first, which does not exist yet")
		h.stop()
		h.open(exchange.DefaultConfig())
		h.registers(kitchen, "cook")

		h.says(person, "request: {id: first, intent: of somebody else}") // it is not the requester's
		for _, circle := range []string{"{id: first, intent: buy, constraints: {depends_on: [third]}}", "{id: own, intent: x, constraints: {depends_on: [own]}}"} {
			if _, err := h.ahead("request: " + circle); err == nil {
				t.Errorf("%s is taken", circle)
			}
		}
		first := h.says(agent, "request: {id: first, intent: buy}").Ref
		h.refuses(kitchen, "status: {re: "+second+", code: claimed}", mess.NotYet)
		h.says(kitchen, "status: {re: "+first+", code: claimed}")
		h.says(kitchen, "response: {re: "+first+", content: [bought]}")
		h.after(time.Second)
		h.says(kitchen, "status: {re: "+second+", code: claimed}")
		h.says(kitchen, "response: {re: "+second+", content: [cooked]}")
		h.after(time.Second)
		h.refuses(kitchen, "status: {re: "+third+", code: claimed}", mess.NotYet, "other")

		other := h.says(agent, "request: {id: other, intent: lay the table}").Ref
		h.says(agent, "cancel: {re: "+other+"}")
		h.after(time.Second)
		h.is(third, mess.Failed)
		if s := h.lastStatus(third); s.Reason.Type != "dependency" || s.Reason.Effect != mess.EffectNone {
			t.Errorf("reason = %+v", s.Reason)
		}
	})
}

// A dependency that ended before a restart of the exchange: the exchange finds it by the client id,
// and the request that waits for it can start.
func TestDependencyEndedBeforeRestart(t *testing.T) {
	store := memory.New()
	inHouseOver(t, store, exchange.DefaultConfig(), func(h *house) {
		h.registers(kitchen, "cook")
		second := h.mustAhead("request: {id: second, intent: cook, constraints: {depends_on: [first]}}")
		first := h.says(agent, "request: {id: first, intent: buy}").Ref
		h.says(kitchen, "status: {re: "+first+", code: claimed}")
		h.says(kitchen, "response: {re: "+first+", content: [bought]}")
		h.stop()
		h.open(exchange.DefaultConfig())
		h.registers(kitchen, "cook")
		h.says(kitchen, "status: {re: "+second+", code: claimed}")
	})
}
