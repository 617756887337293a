package main

import (
	"fmt"
	"net/http"
	"testing"
)

// The exchange syncs data to the disk before it acknowledges a request: each sequential request
// causes at least one sync of the log.
func TestSyncPrecedesAck(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and traces messkit")
	}
	needStrace(t)
	binary := buildMesskit(t)
	f := newFaultRun(t, binary, fault{call: "fsync,fdatasync", errno: "EIO", nth: never, path: "/log/*.wal"})
	p := f.start(append(f.strace(f.dir, f.log), binary)...)
	if p.url == "" {
		t.Fatalf("the exchange does not serve: %s", &p.stderr)
	}
	const asked = 20
	for n := range asked {
		body := fmt.Sprintf(`{"id":"r%d","intent":"look"}`, n)
		if code, text, err := f.ledger.call(f.ledger.operator, http.MethodPost, "/requests", body); err != nil || code != http.StatusCreated {
			t.Fatalf("%d %s, %v", code, text, err)
		}
	}
	f.stop(p)
	synced := 0
	for _, line := range f.traceLines() {
		if s := f.callSite(line); s == "fsync /log/*.wal" || s == "fdatasync /log/*.wal" {
			synced++
		}
	}
	if synced < asked {
		t.Errorf("%d requests were acknowledged one after the other, and the log was synced %d times", asked, synced)
	}
}
