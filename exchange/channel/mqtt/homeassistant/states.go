package homeassistant

import (
	"context"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

// publishStates publishes the state of each entity. It publishes an unknown state as unknown.
func (h *Publisher) publishStates(ctx context.Context, p *retainedTopics, a executorView) error {
	put := func(name string, payload string) error { return p.put(ctx, a.topic(name), []byte(payload)) }
	for _, e := range a.entities() {
		if text, is := a.stateText(e); is {
			if err := put(e.key, text); err != nil {
				return err
			}
		}
	}
	input := a.activity.openQuestion()
	for _, one := range []struct{ name, payload string }{
		{"task", jsonText(a.activity.taskState())},
		{"standing", jsonText(stopState(a.info))},
		{"asks", availability(a.activity.openConfirmation() != nil)},
		{"works", availability(a.activity.ownTask(a.at) != nil)},
		{"answer", jsonText(a.questionState())},
		{"writes", availability(input != nil)},
		{"chooses", availability(input != nil && len(optionsOf(input)) > 0)},
	} {
		if err := put(one.name, one.payload); err != nil {
			return err
		}
	}
	return nil
}

func availability(is bool) string {
	if is {
		return "online"
	}
	return "offline"
}

// States of the stop.
const (
	running  = "running"
	stopping = "stopping" // ordered, and not confirmed
	stopped  = "stopped"
)

// stopState returns the stop state of an executor, as the executor itself has reported it.
func stopState(info exchange.ExecutorInfo) mess.Object {
	switch {
	case len(info.UnconfirmedStops) > 0:
		return object("state", stopping, "why", info.UnconfirmedStops[0].Reason, "by", info.UnconfirmedStops[0].By)
	case info.Stopped != nil && info.Stopped.Reason != "":
		return object("state", stopped, "why", info.Stopped.Reason)
	}
	return object("state", running)
}

// StatusBy is the field of a status that the exchange publishes for an executor on another
// channel.
const StatusBy = "by"

// statusPayload returns such a status.
func (h *Publisher) statusPayload(info exchange.ExecutorInfo) []byte {
	state := "ready"
	disarmed, _ := info.Extra.Get("disarmed")
	switch {
	case !info.Live:
		state = "lost"
	case info.Stopped != nil && info.Stopped.Reason != "":
		state = "stopped"
	case disarmed != nil && disarmed != "":
		state = "disarmed"
	case info.DrainReason != "":
		state = "held"
	case info.Claims > 0:
		state = "busy"
	}
	return []byte(jsonText(object("state", state, StatusBy, exchange.Self, "queue", info.Claims)))
}
