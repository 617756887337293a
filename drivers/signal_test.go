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
		t.Fatal("the channel is closed before a notification")
	default:
	}
	b.Notify()
	<-one
	<-two
	select {
	case <-b.Changes():
		t.Fatal("a new channel is closed for an earlier notification")
	default:
	}
}
