package homeassistant

import (
	"cmp"
	"context"
	"encoding/json"
)

// findAreas reads the areas of the entities: the area of the entity itself, or else of its
// device. If a list is unavailable, the areas remain unknown.
func (h *connection) findAreas(ctx context.Context, s *socket) {
	names := map[string]string{}
	for _, a := range list[struct {
		ID   string `json:"area_id"`
		Name string `json:"name"`
	}](ctx, s, "config/area_registry/list") {
		names[a.ID] = a.Name
	}
	if len(names) == 0 {
		return
	}
	devices := map[string]string{}
	for _, d := range list[struct {
		ID   string `json:"id"`
		Area string `json:"area_id"`
	}](ctx, s, "config/device_registry/list") {
		devices[d.ID] = d.Area
	}
	for _, e := range list[struct {
		ID     string `json:"entity_id"`
		Area   string `json:"area_id"`
		Device string `json:"device_id"`
	}](ctx, s, "config/entity_registry/list") {
		area := cmp.Or(e.Area, devices[e.Device])
		h.mu.Lock()
		if h.watched[e.ID] > 0 {
			h.areas[e.ID] = names[area]
		}
		h.mu.Unlock()
	}
}

// list requests a list. It returns nil if the list is unavailable.
func list[T any](ctx context.Context, s *socket, command string) []T {
	data, err := s.ask(ctx, command, nil)
	var all []T
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	if err != nil {
		return nil
	}
	return all
}

// area returns the area of an entity, or "" if unknown.
func (h *connection) area(id string) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.areas[id]
}
