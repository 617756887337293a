package console_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange"
)

// fakeSetup is a configuration that records its changes.
type fakeSetup struct{ changes []string }

func (s *fakeSetup) Executor() string { return "pi" }

func (s *fakeSetup) Document() (any, error) {
	return map[string]string{"text": "password: hunter2", "revision": "1"}, nil
}

func (s *fakeSetup) Backup(name string) (string, error) { return "backup " + name, nil }

func (s *fakeSetup) Check(text string) any { return map[string]any{"problems": []string{text}} }

func (s *fakeSetup) Save(_ context.Context, text, revision string) (any, error) {
	if revision != "1" {
		return nil, errors.New("another program has changed the file")
	}
	s.changes = append(s.changes, "save "+text)
	return map[string]string{"revision": "2"}, nil
}

func (s *fakeSetup) Quiet() (any, error) { return map[string]string{"hours": "22:00-07:00"}, nil }

func (s *fakeSetup) SetQuiet(_ context.Context, hours string) (any, error) {
	s.changes = append(s.changes, "quiet "+hours)
	return map[string]string{"revision": "3"}, nil
}

func (s *fakeSetup) Find(broker, _, _ string) error {
	s.changes = append(s.changes, "find "+broker)
	return nil
}

func (s *fakeSetup) Found() any { return map[string]bool{"running": true} }

func (s *fakeSetup) Add(_ context.Context, id, name, area string) (any, error) {
	s.changes = append(s.changes, strings.Join([]string{"add", id, name, area}, " "))
	return map[string]string{"device": id}, nil
}

func (s *fakeSetup) Describe(_ context.Context, device, name, area string) (any, error) {
	s.changes = append(s.changes, strings.Join([]string{"describe", device, name, area}, " "))
	return map[string]string{"device": device}, nil
}

func (s *fakeSetup) Look(_ context.Context, device string) (any, error) {
	return map[string]any{"fields": []string{"of " + device}}, nil
}

func (s *fakeSetup) Test(_ context.Context, device string) (any, error) {
	return map[string]string{"text": "test of " + device}, nil
}

func (s *fakeSetup) Hide(_ context.Context, device string, hidden bool) (any, error) {
	s.changes = append(s.changes, fmt.Sprint("hide ", device, hidden))
	return map[string]string{"device": device}, nil
}

func (s *fakeSetup) Change(_ context.Context, device string, fields map[string]string) (any, error) {
	s.changes = append(s.changes, strings.Join([]string{"change", device, fields["host"]}, " "))
	return map[string]string{"device": device}, nil
}

func (s *fakeSetup) Remove(_ context.Context, device string) (any, error) {
	if device == "busy" {
		return nil, errors.New("busy: the task t1 uses it")
	}
	s.changes = append(s.changes, "remove "+device)
	return map[string]string{"device": device}, nil
}

// Only an operator sees and changes the configuration, and each change needs a person.
func TestSetupIsForOperators(t *testing.T) {
	h := newHarness(t)
	h.setup = &fakeSetup{}
	h.start()
	changes := map[string]string{"/console/config": `{"do":"save","text":"a","revision":"1"}`, "/console/device": `{"found":"plug","name":"Desk plug","area":"office"}`, "/console/quiet": `{"hours":"22:00-07:00"}`}
	resident, _ := h.signIn("eve", exchange.Requester|exchange.Observer)
	h.proof = exchange.OnPage
	for path, body := range changes {
		h.wantStatus(http.StatusForbidden, resident, http.MethodPost, path, body)
	}
	for _, path := range []string{"/console/config", "/console/search", "/console/quiet"} {
		if text := h.wantStatus(http.StatusForbidden, resident, http.MethodGet, path, ""); strings.Contains(text, "hunter2") {
			t.Errorf("%s shows a password to %s", path, text)
		}
	}
	if text := h.wantStatus(http.StatusOK, resident, http.MethodGet, "/console/who", ""); strings.Contains(text, `"executor"`) {
		t.Errorf("a resident may change the configuration: %s", text)
	}

	if text := h.wantStatus(http.StatusOK, resident, http.MethodGet, "/console/who", ""); strings.Contains(text, "/var/lib") {
		t.Errorf("a resident sees the data folder: %s", text)
	}

	b, _ := h.signIn("ana", operator)
	if text := h.wantStatus(http.StatusOK, b, http.MethodGet, "/console/who", ""); !strings.Contains(text, `"data":"/var/lib/mess"`) {
		t.Errorf("an operator does not see the data folder: %s", text)
	}
	h.proof = exchange.ByKey // a program holds the key
	for path, body := range changes {
		h.wantStatus(http.StatusForbidden, b, http.MethodPost, path, body)
	}
	if len(h.setup.changes) != 0 {
		t.Fatalf("changed without a person: %q", h.setup.changes)
	}
	h.proof = exchange.OnPage
	for path, body := range changes {
		h.wantStatus(http.StatusOK, b, http.MethodPost, path, body)
	}
	h.wantStatus(http.StatusOK, b, http.MethodPost, "/console/device", `{"device":"lamp","name":"Lamp","area":"hall"}`)
	h.wantStatus(http.StatusConflict, b, http.MethodPost, "/console/config", `{"do":"save","text":"b","revision":"0"}`)
	h.wantStatus(http.StatusBadRequest, b, http.MethodPost, "/console/config", `{"do":"erase"}`)
	h.wantStatus(http.StatusBadRequest, b, http.MethodPost, "/console/search", `{`)
	h.wantStatus(http.StatusOK, b, http.MethodPost, "/console/search", `{"broker":"10.0.0.7"}`)
	for path, want := range map[string]string{"/console/config": "hunter2", "/console/search": "running", "/console/quiet": "22:00-07:00", "/console/who": `"executor":"pi"`} {
		if text := h.wantStatus(http.StatusOK, b, http.MethodGet, path, ""); !strings.Contains(text, want) {
			t.Errorf("%s: %s, want %s", path, text, want)
		}
	}
	if text := h.wantStatus(http.StatusOK, b, http.MethodPost, "/console/config", `{"do":"check","text":"x"}`); !strings.Contains(text, "problems") {
		t.Error(text)
	}
	if text := h.wantStatus(http.StatusOK, b, http.MethodPost, "/console/config", `{"do":"backup","backup":"one"}`); !strings.Contains(text, "backup one") {
		t.Error(text)
	}
	if n := len(h.setup.changes); n != 5 {
		t.Errorf("%d changes: %q, want 5", n, h.setup.changes)
	}
}

// A device is changed and removed by a person alone; to look at it changes nothing.
func TestDeviceIsChangedAndRemoved(t *testing.T) {
	h := newHarness(t)
	h.setup = &fakeSetup{}
	h.start()
	const look, test, change, remove = `{"do":"look","device":"plug"}`, `{"do":"test","device":"plug"}`, `{"do":"change","device":"plug","fields":{"host":"10.0.0.7"}}`, `{"do":"remove","device":"plug"}`
	const hide = `{"do":"hide","device":"plug","hidden":true}`
	h.proof = exchange.OnPage
	resident, _ := h.signIn("eve", exchange.Requester|exchange.Observer)
	for _, body := range []string{look, test, change, hide, remove} {
		h.wantStatus(http.StatusForbidden, resident, http.MethodPost, "/console/device", body)
	}
	b, _ := h.signIn("ana", operator)
	h.proof = exchange.ByKey
	h.wantStatus(http.StatusForbidden, b, http.MethodPost, "/console/device", change)
	h.wantStatus(http.StatusForbidden, b, http.MethodPost, "/console/device", remove)
	h.wantStatus(http.StatusForbidden, b, http.MethodPost, "/console/device", hide)
	if text := h.wantStatus(http.StatusOK, b, http.MethodPost, "/console/device", look); !strings.Contains(text, "of plug") || len(h.setup.changes) != 0 {
		t.Error(text, h.setup.changes)
	}
	if text := h.wantStatus(http.StatusOK, b, http.MethodPost, "/console/device", test); !strings.Contains(text, "test of plug") || len(h.setup.changes) != 0 {
		t.Error(text, h.setup.changes)
	}
	h.proof = exchange.OnPage
	h.wantStatus(http.StatusOK, b, http.MethodPost, "/console/device", change)
	h.wantStatus(http.StatusOK, b, http.MethodPost, "/console/device", hide)
	h.wantStatus(http.StatusOK, b, http.MethodPost, "/console/device", remove)
	if text := h.wantStatus(http.StatusConflict, b, http.MethodPost, "/console/device", `{"do":"remove","device":"busy"}`); !strings.Contains(text, "the task t1 uses it") {
		t.Error(text)
	}
	h.wantStatus(http.StatusBadRequest, b, http.MethodPost, "/console/device", `{"do":"erase","device":"plug"}`)
	if got := strings.Join(h.setup.changes, "; "); got != "change plug 10.0.0.7; hide plugtrue; remove plug" {
		t.Errorf("the changes are %q", got)
	}
}

// A program without an executor has no configuration of devices.
func TestNoSetup(t *testing.T) {
	h := newHarness(t)
	b, _ := h.signIn("ana", operator)
	for _, path := range []string{"/console/config", "/console/search", "/console/quiet"} {
		h.wantStatus(http.StatusConflict, b, http.MethodGet, path, "")
	}
	h.wantStatus(http.StatusConflict, b, http.MethodPost, "/console/device", `{"found":"plug"}`)
}

// Operators see when the last backup was made. Others see neither the time nor the folder.
func TestLastBackup(t *testing.T) {
	h := newHarness(t)
	op, _ := h.signIn("op", operator)
	vic := h.admit("vic", "viewer")
	if text := h.wantStatus(http.StatusOK, op, http.MethodGet, "/console/who", ""); strings.Contains(text, "backup") {
		t.Errorf("without a backup: %s", text)
	}
	h.backup = time.Date(2026, 2, 14, 7, 5, 0, 0, time.UTC)
	if text := h.wantStatus(http.StatusOK, op, http.MethodGet, "/console/who", ""); !strings.Contains(text, `"backup":"2026-02-14T07:05:00Z"`) {
		t.Errorf("an operator sees %s", text)
	}
	if text := h.wantStatus(http.StatusOK, vic, http.MethodGet, "/console/who", ""); strings.Contains(text, "backup") || strings.Contains(text, "/var/lib") {
		t.Errorf("a viewer sees %s", text)
	}
}
