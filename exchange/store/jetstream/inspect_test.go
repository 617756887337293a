package jetstream_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/store/jetstream"
	"github.com/messkit/messkit/internal/test/disk"
	"github.com/messkit/messkit/internal/test/natsserver"
)

// finding returns what Inspect says about a server.
func finding(t *testing.T, c jetstream.Config, server string) jetstream.Finding {
	t.Helper()
	all := jetstream.Inspect(t.Context(), c)
	for _, f := range all {
		if f.Server == server {
			return f
		}
	}
	t.Logf("no finding about %q: %+v", server, all)
	return jetstream.Finding{}
}

// untilFound waits until Inspect finds something bad at a server, or nothing bad any more.
func untilFound(t *testing.T, c jetstream.Config, server string, bad bool, part string) {
	t.Helper()
	var f jetstream.Finding
	for end := time.Now().Add(time.Minute); time.Now().Before(end); <-time.After(100 * time.Millisecond) {
		if f = finding(t, c, server); f.Bad == bad && strings.Contains(f.Says, part) {
			return
		}
	}
	t.Errorf("%s: %+v, want bad %v with %q", server, f, bad, part)
}

// Inspect finds nothing in a healthy cluster, and names the server that is frozen, dead, or has a full
// disk.
func TestInspectNamesServer(t *testing.T) {
	if !disk.MayMount(t) {
		return
	}
	small := t.TempDir()
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=16m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(small, syscall.MNT_DETACH) }) // the namespace ends anyway
	servers := natsserver.StartCluster(t, 3, natsserver.Options{Sync: "always", Store: func(i int) string {
		if i == 2 {
			return small
		}
		return filepath.Join(t.TempDir(), "store")
	}})
	c := config(3, servers...)
	if f := jetstream.Inspect(t.Context(), c); len(f) != 1 || f[0].Bad || !strings.Contains(f[0].Says, "is not there yet") {
		t.Errorf("before the first start: %+v", f)
	}
	s := opened(t, c)
	for _, one := range servers {
		c.Monitors = append(c.Monitors, one.Monitor())
	}
	for _, name := range []string{"n1", "n2", "n3"} {
		untilFound(t, c, name, false, "version 2.15.2, syncs each write, JetStream uses 0 % of")
	}
	if f := finding(t, c, ""); f.Bad || f.Note || !strings.Contains(f.Says, "3 replicas, on n1, n2, n3") {
		t.Errorf("the store: %+v", f)
	}
	servers[1].Freeze()
	untilFound(t, c, "n2", true, "does not answer within 2s: the process or its machine stands still")
	servers[1].Thaw()
	untilFound(t, c, "n2", false, "version")
	servers[0].Kill()
	untilFound(t, c, "n1", true, "start nats-server there")
	servers[0].Restart()
	untilFound(t, c, "n1", false, "version")
	fill(t, small)
	for n := range 8 { // the others take it, and the disk has no room
		if _, err := s.Stage(t.Context(), bytes.NewReader(bytes.Repeat([]byte{byte(n)}, 1<<20)), 1<<21); err != nil && !errors.Is(err, syscall.ENOSPC) {
			t.Logf("an attachment: %v", err)
		}
	}
	untilFound(t, c, "n3", true, "disk")
	for _, name := range []string{"n1", "n2"} { // they may elect a leader first
		untilFound(t, c, name, false, "version")
	}
}

// fill leaves no room on a disk.
func fill(t *testing.T, dir string) {
	t.Helper()
	f, err := os.Create(filepath.Join(dir, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(f, zeros{}); !errors.Is(err, syscall.ENOSPC) {
		t.Fatalf("the disk is not full: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

// Inspect finds a server that does not sync, has little space left, or whose monitoring is of no use.
func TestInspectFindsSettings(t *testing.T) {
	t.Parallel()
	server := natsserver.Start(t, natsserver.Options{More: "accounts: {A: {jetstream: {max_file: 3MB, max_mem: 0}, users: [{user: a, password: b}]}}\nno_auth_user: a"})
	c := config(1, server)
	c.Monitors, c.AcceptLoss = []string{server.Monitor()}, true
	s := opened(t, c)
	if f := finding(t, c, "n1"); f.Bad || !f.Note || !strings.Contains(f.Says, "does not sync each write") {
		t.Errorf("a loss that is accepted: %+v", f)
	}
	c.AcceptLoss = false
	if f := finding(t, c, "n1"); !f.Bad || !strings.Contains(f.Says, "write jetstream {sync_interval: always}") {
		t.Errorf("a server that does not sync: %+v", f)
	}
	for n := range 3 { // until the account is full
		_, _ = s.Stage(t.Context(), bytes.NewReader(bytes.Repeat([]byte{byte(n)}, 1<<20-1<<14)), 1<<21)
	}
	full := false
	for _, f := range jetstream.Inspect(t.Context(), c) {
		full = full || (f.Bad || f.Note) && strings.Contains(f.Says, "of 3 MB; raise max_storage of the account")
	}
	if !full {
		t.Errorf("an account with little space: %+v", jetstream.Inspect(t.Context(), c))
	}
	c.Monitors = []string{server.URL()}
	if f := finding(t, c, "n1"); f.Bad || !f.Note || !strings.Contains(f.Says, "its monitoring at "+server.URL()+" does not answer") {
		t.Errorf("a monitoring address that is none: %+v", f)
	}
	c.Monitors = nil
	if f := finding(t, c, "n1"); f.Bad || !f.Note || !strings.Contains(f.Says, "no address of monitor:") {
		t.Errorf("no monitoring: %+v", f)
	}
	c.URLs = []string{"nats://127.0.0.1:1"}
	if f := finding(t, c, ""); !f.Bad || !strings.Contains(f.Says, "look whether nats-server runs there") {
		t.Errorf("no server: %+v", f)
	}
}

// The findings of answers that no server of this version gives.
func TestJudgeAnswers(t *testing.T) {
	now := time.Now()
	for _, test := range []struct {
		answer string
		bad    bool
		want   string
	}{
		{`{"server_name":"n9","version":"2.15.2","now":%q,"jetstream":{"config":{"sync_always":true,"max_storage":100000000},"stats":{"storage":1000000}}}`, false, "JetStream uses 1 %"},
		{`{"server_name":"n9","version":"2.14.9","now":%q,"jetstream":{"config":{"sync_always":true,"max_storage":100000000}}}`, true, "has version 2.14.9; install 2.15 or later"},
		{`{"server_name":"n9","version":"2.15.2","now":%q,"jetstream":{"config":{"sync_always":true,"max_storage":100},"stats":{"storage":99}}}`, true, "99 % of 0 MB; raise max_file_store"},
		{`{"server_name":"n9","version":"2.15.2","now":%q,"jetstream":{}}`, true, "JetStream is off"},
		{`{"server_name":"n9","version":"2.15.2","now":"2020-01-02T03:04:05Z","jetstream":{"config":{"sync_always":true,"max_storage":100000000}}}`, true, "its clock differs from that of this machine by -"},
	} {
		text := test.answer
		if strings.Contains(text, "%q") {
			text = fmt.Sprintf(text, now.UTC().Format(time.RFC3339Nano))
		}
		if f := jetstream.Judge(t, text); f.Bad != test.bad || f.Server != "n9" || !strings.Contains(f.Says, test.want) {
			t.Errorf("%s: %+v, want %q", text, f, test.want)
		}
	}
}
