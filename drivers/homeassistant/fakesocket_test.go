package homeassistant_test

import (
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/messkit/messkit/drivers"
)

// sitting is one WebSocket connection.
type sitting struct {
	mu   sync.Mutex
	conn *websocket.Conn
	sub  any // id of the subscription to state_changed; nil for none
}

func (s *sitting) send(v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.conn.WriteJSON(v) // a disconnected client has its error already
}

// socket implements developers.home-assistant.io/docs/api/websocket.
func (h *home) socket(w http.ResponseWriter, r *http.Request) {
	h.mu.Lock()
	shut := h.shut
	h.mu.Unlock()
	if shut {
		http.NotFound(w, r)
		return
	}
	up := websocket.Upgrader{}
	conn, err := up.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	s := &sitting{conn: conn}
	s.send(map[string]any{"type": "auth_required", "ha_version": "2026.11.1"})
	var in map[string]any
	if conn.ReadJSON(&in) != nil || in["type"] != "auth" || in["access_token"] != token {
		s.send(map[string]any{"type": "auth_invalid", "message": "Invalid access token or password"})
		return
	}
	s.send(map[string]any{"type": "auth_ok", "ha_version": "2026.11.1"})
	h.mu.Lock()
	h.sits = append(h.sits, s)
	h.mu.Unlock()
	for last := 0.0; ; {
		var in map[string]any
		if conn.ReadJSON(&in) != nil {
			return
		}
		id, _ := in["id"].(float64)
		if id <= last {
			s.send(map[string]any{"id": id, "type": "result", "success": false, "error": map[string]any{"code": "id_reuse", "message": "Identifier values have to increase."}})
			continue
		}
		last = id
		if !h.command(s, in) {
			return
		}
	}
}

// command answers one command. It returns false to close the connection.
func (h *home) command(s *sitting, in map[string]any) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	ok := func(result any) bool {
		s.send(map[string]any{"id": in["id"], "type": "result", "success": true, "result": result})
		return true
	}
	no := func(code, message string) bool {
		s.send(map[string]any{"id": in["id"], "type": "result", "success": false, "error": map[string]any{"code": code, "message": message}})
		return true
	}
	switch in["type"] {
	case "ping":
		s.send(map[string]any{"id": in["id"], "type": "pong"})
		if h.slow--; h.slow < 0 && h.next != nil {
			h.next()
			h.next = nil
		}
		return true
	case "get_config":
		return ok(h.settings())
	case "subscribe_events":
		s.sub = in["id"]
		h.joined++
		return ok(nil)
	case "get_states":
		var all []any
		for id := range h.states {
			all = append(all, h.entity(id))
		}
		if h.leaves != "" {
			delete(h.states, h.leaves)
			s.send(map[string]any{"id": s.sub, "type": "event", "event": map[string]any{
				"event_type": "state_changed", "data": map[string]any{"entity_id": h.leaves, "new_state": nil, "old_state": nil},
			}})
		}
		return ok(all)
	case "config/area_registry/list":
		return ok([]any{map[string]any{"area_id": "flur", "name": "Hall", "aliases": []any{}}, map[string]any{"area_id": "bad", "name": "Bath"}})
	case "config/device_registry/list":
		return ok([]any{map[string]any{"id": "d1", "area_id": "bad"}, map[string]any{"id": "d2", "area_id": nil}})
	case "config/entity_registry/list":
		return ok([]any{
			map[string]any{"entity_id": "light.hall", "area_id": "flur", "device_id": "d1"},
			map[string]any{"entity_id": "fan.bath", "area_id": nil, "device_id": "d1"},
			map[string]any{"entity_id": "switch.pump", "area_id": nil, "device_id": "d2"},
		})
	case "call_service":
		target, _ := in["target"].(map[string]any)
		id, _ := target["entity_id"].(string)
		domain, _ := in["domain"].(string)
		service, _ := in["service"].(string)
		if h.states[id] == nil || !strings.HasPrefix(id, domain+".") || service == "" {
			return no("service_validation_error", "Service not found.")
		}
		data, _ := in["service_data"].(map[string]any)
		h.does(domain+"/"+service, id, data)
		if h.denies != "" {
			return no(h.denies, "Something in it was refused.")
		}
		if h.deaf {
			return false
		}
		if h.mute == domain+"/"+service {
			if h.held != nil {
				go func(held chan struct{}) { <-held; ok(nil) }(h.held)
			}
			return true
		}
		return ok(map[string]any{"context": map[string]any{"id": "01"}, "response": nil})
	}
	return no("unknown_command", "Unknown command.")
}

// publish sends an event to all subscribers. The caller holds mu.
func (h *home) publish(id string) {
	for _, s := range h.sits {
		if s.sub == nil {
			continue
		}
		s.send(map[string]any{"id": s.sub, "type": "event", "event": map[string]any{
			"event_type": "state_changed", "origin": "LOCAL", "time_fired": "2026-11-21T09:44:50.123456+00:00",
			"data": map[string]any{"entity_id": id, "new_state": h.entity(id), "old_state": nil},
		}})
	}
}

// hangUp closes all connections.
func (h *home) hangUp() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, s := range h.sits {
		_ = s.conn.Close() // the client may have closed it
	}
	h.sits = nil
}

// stateLock is a mutex that reports each release, because the state may have changed.
type stateLock struct {
	sync.Mutex
	released drivers.Signal
}

func (l *stateLock) Unlock() {
	l.Mutex.Unlock()
	l.released.Notify()
}

// has waits until what returns true, or for a minute.
func (h *home) has(what func(*home) bool) bool {
	late := time.After(time.Minute)
	for {
		released := h.mu.released.Changes()
		h.mu.Lock()
		so := what(h)
		h.mu.Mutex.Unlock() // what changes nothing
		if so {
			return true
		}
		select {
		case <-released:
		case <-late:
			return false
		}
	}
}
