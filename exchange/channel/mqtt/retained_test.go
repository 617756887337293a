package mqtt_test

import (
	"fmt"
	"strconv"
	"sync"
	"testing"
)

// Clients subscribe with wildcards while others set and clear retained messages, on new and on
// known topics. No client reads half a message, and later clients get the retained ones.
func TestSubscribeWhileRetaining(t *testing.T) {
	h := newEmbeddedHarness(t)
	var group sync.WaitGroup
	for i := range 4 {
		id := "w" + strconv.Itoa(i)
		writer, reader := h.connect(login{id: id}), h.connect(h.observer("r"+strconv.Itoa(i)))
		done := make(chan struct{})
		group.Go(func() {
			defer close(done)
			for n := range 100 {
				text := ""
				if n%3 < 2 {
					text = fmt.Sprintf(`{"state":"ready","epoch":%d}`, n+1)
				}
				if !writer.publishWith(root+"e/"+id+"/status", text, byte(n%2), true) {
					t.Error("a status is not taken")
					return
				}
			}
			if !writer.publishWith(root+"e/"+id+"/status", `{"state":"ready","epoch":1000}`, 1, true) {
				t.Error("the last status is not taken")
			}
		})
		group.Go(func() {
			for {
				for _, f := range []string{"e/+/status", "e/+/card"} {
					if !reader.subscribe(root + f) {
						t.Errorf("may not read %s", f)
						return
					}
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	group.Wait()
	last := h.connect(h.observer("last")).listen(root + "e/+/status")
	for i := range 4 {
		name := root + "e/w" + strconv.Itoa(i) + "/status"
		last.waitFor(name, func(r received) bool {
			return r.topic == name && r.retained && r.text == `{"state":"ready","epoch":1000}`
		})
	}
}
