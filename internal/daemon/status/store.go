package status

import (
	"fmt"

	"github.com/messkit/messkit/internal/cli/output"
)

// Store is the state of a store on NATS servers.
type Store struct {
	Server   string   `json:"server,omitempty"` // address in use; "": none answers
	Replicas int      `json:"replicas"`         // servers that have each message
	Sync     string   `json:"sync"`             // always, default or unknown
	Source   string   `json:"source"`           // of Sync: servers, configuration or none
	Down     []string `json:"down,omitempty"`   // servers that were down at the start
	Kept     bool     `json:"kept"`             // no power cut loses an acknowledged step
	Promise  string   `json:"promise"`
	Failing  string   `json:"failing,omitempty"` // why it cannot write
	Format   int      `json:"format"`            // in which it writes
	Newest   int      `json:"newest"`            // format that this release knows

	Bytes      uint64   `json:"bytes,omitempty"`        // of threads and documents, on each server; 0 if it is unknown
	Objects    uint64   `json:"object_bytes,omitempty"` // of attachments and archives
	Full       []string `json:"full,omitempty"`         // limits of which a fifth or less is left
	Unreadable int      `json:"unreadable,omitempty"`   // records that nobody can read

	Servers []Server `json:"servers,omitempty"`         // those that have the threads
	Unknown string   `json:"servers_unknown,omitempty"` // why Servers is empty
}

// Server is a NATS server that has the threads.
type Server struct {
	Name    string `json:"name"`
	Problem string `json:"problem,omitempty"` // why it may lack the last steps, with a remedy
}

// Current returns the number of servers that have all steps.
func (s Store) Current() (n int) {
	for _, one := range s.Servers {
		if one.Problem == "" {
			n++
		}
	}
	return n
}

func (s Store) String() string {
	at := "no server answers"
	if s.Server != "" {
		at = "at " + s.Server
	}
	source := map[string]string{"servers": ", as the servers say", "configuration": ", as the configuration says"}[s.Source]
	replicas := output.Count(s.Replicas, "replica")
	if len(s.Servers) > 0 && s.Current() < s.Replicas {
		replicas = fmt.Sprintf("%d of %s current", s.Current(), replicas)
	}
	return fmt.Sprintf("NATS, %s, %s, sync %s%s: %s", at, replicas, s.Sync, source, s.Promise)
}
