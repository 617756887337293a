package sim_test

import (
	"context"
	"testing"
	"time"

	"github.com/messkit/messkit/drivers"
)

// The end of a movement is a change, like each of its steps.
func TestEndOfMovementIsAChange(t *testing.T) {
	d := started(t, new(drivers.Shared), "sim-cover", "{line: bedroom-blind, takes: 1h}")
	ctx, cancel := context.WithCancel(t.Context())
	moved := make(chan error, 1)
	changes := d.(drivers.Notifier).Changes()
	go func() { moved <- d.(drivers.Opener).Open(ctx) }()
	is := func() error { _, err := d.(drivers.OpeningReader).Opening(t.Context()); return err }
	for wait := time.After(time.Minute); is() == nil; {
		select {
		case <-changes:
			changes = d.(drivers.Notifier).Changes()
		case <-wait:
			t.Fatal("the cover does not begin to move")
		}
	}
	cancel()
	for wait := time.After(time.Minute); ; {
		changes = d.(drivers.Notifier).Changes()
		if is() == nil {
			break
		}
		select {
		case <-changes:
		case <-wait:
			t.Fatal("no change is reported when the cover stops")
		}
	}
	if err := <-moved; err == nil {
		t.Error("Open of a stopped cover succeeds, want an error")
	}
}
