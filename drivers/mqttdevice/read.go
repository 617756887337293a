package mqttdevice

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/drivers/mqttclient"
)

// read returns the measurements: from the device if it answers questions, else from its
// last messages since the connection.
func (d *device) read(ctx context.Context) ([]drivers.Reading, error) {
	if err := d.online(ctx); err != nil {
		return nil, err
	}
	fresh := map[string]mqttclient.Received{}
	var list []drivers.Reading
	for _, r := range d.template.Readings {
		topic := d.values.Text(r.Topic)
		h, known := fresh[topic]
		if !known {
			var err error
			if h, err = d.latest(ctx, r, topic); err != nil && !r.Optional {
				return nil, err
			}
			fresh[topic] = h
		}
		if h.Number == 0 {
			continue
		}
		one, err := r.In(d.values, h.Payload, h.At)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", topic, err)
		}
		if one != nil {
			list = append(list, *one)
		}
	}
	if len(list) == 0 {
		return nil, silence{}
	}
	return list, nil
}

// silence is an ErrSilent.
type silence struct{}

func (silence) Error() string {
	return "the device has sent no measurement since messkit listens. It may sleep and send only changes; if it never sends, check its name and its battery"
}

func (silence) Is(err error) bool {
	return err == drivers.ErrNoReadingYet || err == drivers.ErrNoReading
}

// latest returns the last message of a topic for a reading.
func (d *device) latest(ctx context.Context, r Reading, topic string) (mqttclient.Received, error) {
	from := d.member.Now()
	if r.Ask != nil {
		if err := d.ask(ctx, r.Ask, d.values); err != nil {
			return mqttclient.Received{}, err
		}
	} else {
		from = 0
	}
	within, cancel := context.WithTimeout(ctx, d.readTimeout(r))
	defer cancel()
	h, ok := d.member.Await(within, topic, func(h mqttclient.Received) bool { return h.Number > from && (r.Retained || !h.Retained) })
	switch {
	case ctx.Err() != nil:
		return mqttclient.Received{}, ctx.Err()
	case !ok:
		return mqttclient.Received{}, errors.New(d.silent(topic, fmt.Sprintf("no message on %s; check the name of the device", topic)))
	}
	return h, nil
}

// readTimeout returns how long to wait for a reading. An unsolicited message is not worth a
// wait.
func (d *device) readTimeout(r Reading) (limit time.Duration) {
	if r.Ask != nil {
		return d.timeout
	}
	return min(d.timeout, unchanged)
}
