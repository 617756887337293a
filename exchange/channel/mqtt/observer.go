package mqtt

import (
	"context"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mqtt/homeassistant"
	"github.com/messkit/messkit/mess"
)

// observer follows executors and threads, and publishes them for Home Assistant. Without
// Home Assistant it removes the messages of an earlier run from the broker.
type observer interface {
	// Run publishes in one session with the broker, until ctx ends.
	Run(ctx context.Context, to homeassistant.Broker)
	// Birth takes the birth message of Home Assistant.
	Birth(payload []byte)
	// Thread takes the status of a thread at the begin of a session.
	Thread(ctx context.Context, e exchange.Envelope)
	// Message takes a message of a thread. now is false if it may be older than the session.
	Message(e exchange.Envelope, m mess.Message, now bool)
	// PresenceChanged reports that an executor has come or left.
	PresenceChanged()
}

func newObserver(d *Adapter) observer {
	if !d.cfg.HomeAssistant {
		return homeassistant.NewWithdrawal(d.x, channel, d.log)
	}
	return homeassistant.New(homeassistant.Config{
		Exchange: d.x, Channel: channel, Root: d.root, Version: d.cfg.Version, Presence: d.executors, Now: d.now, Log: d.log,
		Start: func(f func(context.Context, homeassistant.Broker)) {
			d.connection.start(func(ctx context.Context, to publisher) { f(ctx, observed{to}) })
		},
	})
}

// observed is a broker for an observer.
type observed struct{ publisher }

// Publish returns when the broker has the message, or with an error when it will not get it.
func (o observed) Publish(ctx context.Context, topic string, payload []byte, retain bool) error {
	return o.publish(ctx, outgoing{topic: topic, payload: payload, retain: retain})
}
