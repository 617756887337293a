package drivers_test

import (
	"testing"

	"github.com/messkit/messkit/drivers"
)

func TestSignalNotifiesEachSubscriberOnce(t *testing.T) {
	var b drivers.Signal
	b.Notify() // without a subscriber
	one, two := b.Changes(), b.Changes()
	select {
	case <-one:
		t.Fatal("it was rung before anybody asked")
	default:
	}
	b.Notify()
	<-one
	<-two
	select {
	case <-b.Changes():
		t.Fatal("it rings for what was told already")
	default:
	}
}
