package valetudo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/drivers/httpclient"
)

// room is a segment of the map, or a room of the configuration that the robot does not
// have.
type room struct {
	ID      string
	Name    string // name that people use
	Own     string // name in the robot; "" for none
	Missing bool
}

// rooms requests the segments, and gives them the names of the configuration.
func (v *Vacuum) rooms(ctx context.Context) ([]room, error) {
	a, err := v.web.Do(ctx, httpclient.Call{Path: segmentsPath})
	if err != nil {
		return nil, err
	}
	rooms, err := parseRooms(a.Body, v.cfg.Segments)
	if err := missing(rooms); err != nil {
		v.logMissing.Do(func() { v.log.Warn("the robot lacks segments of the configuration", "err", err) })
	}
	return rooms, err
}

// parseRooms returns the rooms that the robot can clean, and then those that are Missing.
func parseRooms(data []byte, names map[string]string) ([]room, error) {
	var list []struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, errors.New("the answer is not a room list of Valetudo; check url and the version of Valetudo")
	}
	var rooms []room
	taken, there := map[string]bool{}, map[string]bool{}
	var all []string
	for _, s := range list {
		if s.ID == "" {
			continue
		}
		all, there[s.ID] = append(all, idAndName(s.ID, s.Name)), true
		if names != nil && names[s.ID] == "" {
			continue // the robot may clean only rooms of the configuration
		}
		one := room{ID: s.ID, Name: cmp.Or(names[s.ID], s.Name, "room "+s.ID), Own: s.Name}
		if taken[one.Name] {
			one.Name += " " + s.ID
		}
		taken[one.Name] = true
		rooms = append(rooms, one)
	}
	if len(all) == 0 {
		return nil, errors.New("the robot has no rooms; let it map the home, and divide the map into segments on the page of the robot")
	}
	if len(rooms) == 0 {
		return nil, fmt.Errorf("segments: the robot has none of them, only %s", strings.Join(all, ", "))
	}
	for _, id := range slices.Sorted(maps.Keys(names)) {
		if !there[id] {
			rooms = append(rooms, room{ID: id, Name: names[id], Own: strings.Join(all, ", "), Missing: true})
		}
	}
	return rooms, nil
}

func idAndName(id, name string) string {
	if name == "" {
		return id
	}
	return fmt.Sprintf("%s (%s)", id, name)
}

// missing returns an error that names the rooms that the robot lacks and those that it has,
// or nil.
func missing(rooms []room) error {
	var list []string
	has := ""
	for _, r := range rooms {
		if r.Missing {
			list, has = append(list, idAndName(r.ID, r.Name)), r.Own
		}
	}
	if list == nil {
		return nil
	}
	return fmt.Errorf("segments: the robot has no segment %s, only %s", strings.Join(list, ", "), has)
}

func names(rooms []room) []string {
	list := make([]string, len(rooms))
	for i, r := range rooms {
		list[i] = r.Name
	}
	return list
}

// Inspect checks whether the robot answers and has the rooms of the configuration. It works
// while the device is halted.
func (v *Vacuum) Inspect(ctx context.Context) (string, error) {
	s, err := v.state(ctx)
	if err != nil {
		return "", v.WithName(err)
	}
	text := "answers: " + s.activityText()
	rooms, err := v.rooms(ctx)
	if err == nil {
		err = missing(rooms)
	}
	switch {
	case err == nil:
		return text + "; rooms: " + strings.Join(names(rooms), ", "), nil
	case len(v.cfg.Segments) > 0:
		return "", v.WithName(err)
	}
	return text + "; no rooms: " + err.Error(), nil
}
