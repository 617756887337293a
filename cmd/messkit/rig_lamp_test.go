package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/messkit/messkit/internal/test/link"
)

// lampCommand is a command in a lamp's log.
type lampCommand struct {
	at    time.Time
	level int
}

// rigLamp is a dimmable Tasmota lamp with a log of its commands
// (https://tasmota.github.io/docs/Lights/). Each executor has a separate link to it.
type rigLamp struct {
	server *httptest.Server
	links  []*link.Link

	mu    sync.Mutex
	level int
	log   []lampCommand
}

func newRigLamp(t *testing.T, executors int) *rigLamp {
	t.Helper()
	p := &rigLamp{}
	p.server = httptest.NewServer(p)
	t.Cleanup(func() {
		p.server.CloseClientConnections()
		p.server.Close()
	})
	for range executors {
		p.links = append(p.links, link.New(t, p.server.Listener.Addr().String()))
	}
	return p
}

func (p *rigLamp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	command, argument, _ := strings.Cut(r.URL.Query().Get("cmnd"), " ")
	switch level, err := strconv.Atoi(argument); {
	case command == "Dimmer" && err == nil:
		p.level = level
		p.log = append(p.log, lampCommand{time.Now(), level})
	case command == "Power" && argument != "":
		p.level = map[string]int{"On": max(p.level, 1), "Off": 0}[argument]
		p.log = append(p.log, lampCommand{time.Now(), p.level})
	}
	state := map[string]any{"POWER": map[bool]string{true: "ON", false: "OFF"}[p.level > 0], "Dimmer": p.level}
	w.Header().Set("Content-Type", "application/json")
	if command == "Status" {
		_ = json.NewEncoder(w).Encode(map[string]any{"StatusSTS": map[string]any{"POWER": state["POWER"], "Dimmer": p.level, "Wifi": map[string]any{"Signal": -63}}})
		return
	}
	_ = json.NewEncoder(w).Encode(state)
}

// commandTimes returns the times of the commands with a level in that interval.
func (p *rigLamp) commandTimes(level int, since, until time.Time) (list []time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.log {
		if d.level == level && !d.at.Before(since) && d.at.Before(until) {
			list = append(list, d.at)
		}
	}
	return list
}

// lampConfig returns the entry of a lamp in an executor's configuration.
func lampConfig(n int, l *link.Link) string {
	return fmt.Sprintf("  dimmer-%d: {driver: httpdevice, family: tasmota-light, url: 'http://%s', timeout: 1s, initial: keep, safe: keep}\n", n, l.Address())
}
