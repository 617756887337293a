package jetstream_test

import (
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	natsjs "github.com/nats-io/nats.go/jetstream"

	"github.com/messkit/messkit/internal/test/disk"
	"github.com/messkit/messkit/internal/test/natsserver"
)

// The server that leads the stream has a full disk. The other two go on, the node changes to one of them if
// it has to, and nothing is lost. The server works again after a restart with space.
func TestFullDiskOfServer(t *testing.T) {
	natsserver.Program(t)
	if !disk.HasOwnMounts(t) {
		return
	}
	c := newCutServers(t, 3, "always", 64<<20)
	a, stop := startWriters(t, opened(t, c.cfg))
	full, _ := c.group()
	begin := time.Now()
	c.disks[full].Fill()
	a.await(t, 50)
	if now, _ := c.group(); now == full {
		t.Errorf("n%d still leads the stream with a full disk", full+1)
	}
	t.Logf("50 threads are acknowledged %v after the disk of the leader was full", time.Since(begin).Round(time.Millisecond))
	c.disks[full].Free()
	c.servers[full].Kill()
	c.servers[full].Restart()
	a.await(t, 50)
	stop()
	if lost := c.missing(a.refs); lost > 0 {
		t.Errorf("%d of %d acknowledged threads are lost", lost, len(a.refs))
	}
}

// group returns the server that leads the stream, and the others that have all of it.
func (c *cutServers) group() (leader int, others []int) {
	c.Helper()
	nc, err := nats.Connect(strings.Join(c.cfg.URLs, ","))
	if err != nil {
		c.Fatal(err)
	}
	defer nc.Close()
	js, err := natsjs.New(nc)
	if err != nil {
		c.Fatal(err)
	}
	for end := time.Now().Add(cutWait); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
		stream, err := js.Stream(c.Context(), c.stream())
		if err != nil || stream.CachedInfo().Cluster == nil || stream.CachedInfo().Cluster.Leader == "" {
			continue // an election
		}
		for _, one := range stream.CachedInfo().Cluster.Replicas {
			if one.Current {
				others = append(others, number(one.Name))
			}
		}
		return number(stream.CachedInfo().Cluster.Leader), others
	}
	c.Fatal("the stream has no leader")
	return 0, nil
}

func (c *cutServers) stream() string { return "mess_" + c.cfg.Site }

// number returns the number of a server by its name, from 0 on.
func number(name string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(name, "n")) // the names are n1, n2, ...
	return n - 1
}

// A node whose server is cut off from the others, and still answers pings, changes to another server.
func TestNodeLeavesServerThatIsCutOff(t *testing.T) {
	t.Parallel()
	c := &cutServers{T: t}
	c.start(3, 3, "always", nil)
	c.cfg.Log = slog.New(slog.NewTextHandler(t.Output(), nil))
	s := opened(t, c.cfg)
	a, stop := startWriters(t, s)
	at := s.Connected()
	for n, one := range c.servers {
		if one.URL() == at {
			c.cutOff(n)
		}
	}
	begin := time.Now()
	a.await(t, 50)
	if now := s.Connected(); now == at {
		t.Errorf("the node is still at %s", at)
	}
	t.Logf("50 threads are acknowledged %v after the cut", time.Since(begin).Round(time.Millisecond))
	stop()
	c.heal()
	if lost := c.missing(a.refs); lost > 0 {
		t.Errorf("%d of %d acknowledged threads are lost", lost, len(a.refs))
	}
}

// An operator replaces a server of the stream while it is cut off from the others. The new server gets the
// threads, the removed one never comes back into the stream, and nothing is lost.
func TestServerIsReplacedWhileItIsCutOff(t *testing.T) {
	t.Parallel()
	c := &cutServers{T: t}
	c.start(4, 3, "always", nil)
	a, stop := startWriters(t, opened(t, c.cfg))
	leader, others := c.group()
	gone := others[0]
	c.cutOff(gone)
	a.await(t, 50)
	c.remove(leader, gone)
	a.await(t, 50)
	c.heal()
	for end := time.Now().Add(cutWait); ; <-time.After(50 * time.Millisecond) {
		now, others := c.group()
		if len(others) == 2 && !slices.Contains(append(others, now), gone) {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("n%d leads the stream, and the others with all of it are %v; n%d was removed", now+1, others, gone+1)
		}
	}
	a.await(t, 50)
	stop()
	c.servers[leader].Kill() // the new server and the other one are the majority
	if lost := c.missing(a.refs); lost > 0 {
		t.Errorf("%d of %d acknowledged threads are lost", lost, len(a.refs))
	}
}

// remove removes a server from the stream.
func (c *cutServers) remove(at, n int) {
	c.Helper()
	nc, err := nats.Connect(c.servers[at].URL())
	if err != nil {
		c.Fatal(err)
	}
	defer nc.Close()
	for end := time.Now().Add(cutWait); ; <-time.After(50 * time.Millisecond) {
		answer, err := nc.Request("$JS.API.STREAM.PEER.REMOVE."+c.stream(), fmt.Appendf(nil, `{"peer":"n%d"}`, n+1), 5*time.Second)
		if err == nil && strings.Contains(string(answer.Data), `"success":true`) {
			return
		}
		if time.Now().After(end) {
			c.Fatalf("n%d is not removed: %v %s", n+1, err, answer.Data)
		}
	}
}
