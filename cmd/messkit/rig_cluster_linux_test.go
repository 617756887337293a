package main

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/test/freeport"
	"github.com/messkit/messkit/internal/test/natsserver"
)

// cluster is two exchanges on three NATS servers, each with an executor. The executors race for the
// same valves.
type cluster struct {
	*deployment
	servers []*natsserver.Server
	second  *process // the other exchange
}

// newCluster starts a cluster. With overNATS the executors connect to the servers, else to the exchanges.
func newCluster(t *testing.T, most int, overNATS bool) *cluster {
	t.Helper()
	c := &cluster{servers: natsserver.StartCluster(t, 3, natsserver.Options{Sync: "always"})}
	c.deployment = &deployment{T: t, binary: buildMesskit(t), home: t.TempDir(), agents: make([]*process, 2), address: freeport.Address(t)}
	c.valveRequests = newValveRequests(t.TempDir(), 6, most)
	var urls []string
	for _, s := range c.servers {
		urls = append(urls, s.URL())
	}
	second := freeport.Address(t)
	for of, address := range map[string]string{"exchange": c.address, "second": second} {
		c.writeConfig(of, fmt.Sprintf("exchange: {id: home, data: %s, listen: '%s', lease: 2s, unreachable: 2s, lost_after: 5s, confirm: script, store: {url: '%s', replicas: 3, sync: always}}\n", c.dataDir(of), address, strings.Join(urls, ",")))
	}
	c.startExchange()
	c.second = c.startProcess("second", "exchange")
	for n, address := range []string{c.address, second} {
		id := fmt.Sprint("pi-", n)
		key := c.dataDir(id) + ".key"
		connect := fmt.Sprintf("connect: {url: 'http://%s', key_file: %s}\n", address, key)
		if overNATS {
			connect = fmt.Sprintf("connect: {url: '%s', key_file: %s}\n", strings.Join(urls, ","), key)
			issue := exec.CommandContext(t.Context(), c.binary, "keys", "issue", id, "executor", "--save", key, "--url", "http://"+c.address, "--key-file", filepath.Join(c.dataDir("exchange"), "operator.key"))
			if out, err := issue.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
		}
		c.writeConfig(id, connect+c.agentYAML(id, c.dataDir(id))+c.devicesYAML())
		c.startAgent(n)
	}
	return c
}

// injectFault causes one random fault of an executor, an exchange or a server, and ends it.
func (c *cluster) injectFault() {
	server := c.servers[rand.IntN(len(c.servers))]
	switch rand.IntN(8) {
	case 0, 1:
		c.killAgent()
	case 2:
		c.freezeAgent()
	case 3:
		c.killExchange()
	case 4:
		if err := c.second.kill(); err != nil {
			c.Fatal(err)
		}
		c.second = c.startProcess("second", "exchange")
	case 5:
		c.freeze(c.second, rand.N(3*time.Second))
	case 6:
		server.Kill()
		randomPause(time.Second)
		server.Restart()
	default:
		server.Freeze()
		randomPause(4 * time.Second)
		server.Thaw()
	}
}

// Two exchanges share a cluster of NATS servers. Executors of both race for valves while executors,
// exchanges and servers die and freeze. Each request runs at most once by the valves' own logs, none is
// lost, and all reports are true. MESSKIT_CLUSTER_ACTS is the number of requests.
func TestClusterActsOnce(t *testing.T) { clusterActsOnce(t, false) }

// The same with executors that connect to the NATS servers.
func TestClusterActsOnceOverNATS(t *testing.T) { clusterActsOnce(t, true) }

func clusterActsOnce(t *testing.T, overNATS bool) {
	t.Helper()
	if testing.Short() {
		t.Skip("starts and kills processes for most of a minute")
	}
	n, faults := countFromEnv(t, "MESSKIT_CLUSTER_ACTS", 40), 0
	c, begin := newCluster(t, n, overNATS), time.Now()
	c.rest = 4 * time.Second
	c.runWithFaults(func() {
		faults++
		c.injectFault()
	}, max(12, n/3))
	v := c.judge("")
	for i, p := range c.agents {
		if err := p.stop(); err != nil {
			t.Errorf("pi-%d at its end: %v\n%s", i, err, &p.stderr)
		}
		v.checkJournal(c.binary, c.dataDir(fmt.Sprint("pi-", i)))
	}
	for _, p := range []*process{c.exchange, c.second} {
		if err := p.stop(); err != nil {
			t.Errorf("an exchange at its end: %v\n%s", err, &p.stderr)
		}
	}
	v.report(t)
	t.Logf("%d faults in %v: %s", faults, time.Since(begin).Round(time.Second), v)
	if v.acts < n/4 {
		t.Error("too few acts for a result")
	}
}
