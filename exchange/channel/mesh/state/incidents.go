package state

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Incident is something that is wrong, of which there may be many alerts (MESH
// 1.0 section 9).
type Incident struct {
	ID                   string     `json:"id"`
	DedupKey             string     `json:"dedupKey"`
	Type                 string     `json:"type"`  // service_alert or network_outage
	Scope                string     `json:"scope"` // host/check; of an outage, what the hosts have in common
	FirstSeen            time.Time  `json:"firstSeen"`
	LastSeen             time.Time  `json:"lastSeen"`
	AlertCount           int        `json:"alertCount"`
	AffectedHosts        []string   `json:"affectedHosts"`
	Status               string     `json:"status"` // active or resolved
	Escalated            bool       `json:"escalated"`
	LastNotifiedOperator *time.Time `json:"lastNotifiedOperator"`
	ResolvedAt           *time.Time `json:"resolvedAt,omitempty"`

	Group   string  `json:"group,omitempty"`   // hosts with the same may be one outage
	Subject string  `json:"subject,omitempty"` // of the first alert
	Untold  Verdict `json:"untold,omitempty"`  // what is to be told, and may not have been
}

type incidents struct {
	Incidents []Incident `json:"incidents"`
}

const (
	serviceAlert  = "service_alert"
	networkOutage = "network_outage"
	active        = "active"
	resolved      = "resolved"
)

// Alert is what an alert says.
type Alert struct {
	Host, Check, Key, Group, Subject string
	At                               time.Time // when it was made, by its sender
	Recovery                         bool
}

// Verdict is what is to be done about an alert.
type Verdict string

// The verdicts (section 9, "Implementation").
const (
	New        Verdict = "new"        // tell the operator
	Suppressed Verdict = "suppressed" // it is counted
	Escalate   Verdict = "escalate"   // tell the operator: more is known, or it lasts
	Recovery   Verdict = "recovery"   // tell the operator: it is over
	Summary    Verdict = "summary"    // tell the operator: it lasts. Of no alert
)

// Policy says when the operator is told again (section 9, "Alert Escalation
// Policy").
type Policy struct {
	Window      time.Duration // after the operator was told, in which alerts are only counted
	Summary     time.Duration // after the first alert, one summary
	Later       time.Duration // between summaries after that
	OutageHosts int           // so many hosts of one group are one outage; 0: never
	OutageTime  time.Duration // if they fail within that time
	Keep        time.Duration // how long what is over is remembered
}

// DefaultPolicy is that of the document.
func DefaultPolicy() Policy {
	return Policy{30 * time.Minute, time.Hour, 2 * time.Hour, 3, 5 * time.Minute, 30 * 24 * time.Hour}
}

// due is when an incident is summed up next.
func (p Policy) due(i Incident) time.Time {
	if i.LastNotifiedOperator == nil {
		return i.FirstSeen
	}
	first := i.FirstSeen.Add(p.Summary)
	if i.LastNotifiedOperator.Before(first) {
		return first
	}
	return i.LastNotifiedOperator.Add(p.Later)
}

// Judge takes an alert, and says what is to be done about it, and for which
// incident. What is to be told is untold until Told.
func (s *Store) Judge(p Policy, a Alert) (Verdict, Incident, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	list := slices.Clone(s.incidents.Incidents)
	list = slices.DeleteFunc(list, func(i Incident) bool {
		return i.ResolvedAt != nil && now.Sub(*i.ResolvedAt) > p.Keep
	})
	j := judging{p, now, list}
	v, at := j.judge(a)
	if v != Suppressed && at >= 0 {
		j.list[at].Untold = v
	}
	if err := s.write(incidentsFile, incidents{j.list}); err != nil {
		return "", Incident{}, err
	}
	s.incidents.Incidents = j.list
	if at < 0 {
		return v, Incident{}, nil
	}
	return v, j.list[at], nil
}

// judging is one alert and all incidents.
type judging struct {
	Policy
	now  time.Time
	list []Incident
}

func (j *judging) judge(a Alert) (Verdict, int) {
	i := j.find(a)
	switch {
	case a.Recovery && (i < 0 || a.At.Before(j.list[i].LastSeen)):
		return Suppressed, i // of nothing that is known, or from before the last alert
	case a.Recovery:
		return j.recover(i, a)
	case i < 0 && j.old(a):
		return Suppressed, -1
	case i < 0:
		return j.begin(a)
	}
	one := &j.list[i]
	one.AlertCount++
	quiet := j.now.Sub(one.LastSeen)
	if a.At.After(one.LastSeen) {
		one.LastSeen = a.At
	}
	if !slices.Contains(one.AffectedHosts, a.Host) && a.Host != "" {
		one.AffectedHosts = append(slices.Clone(one.AffectedHosts), a.Host)
		return Suppressed, i // rule 2
	}
	told := one.LastNotifiedOperator != nil && j.now.Sub(*one.LastNotifiedOperator) < j.Window
	if !j.now.Before(j.due(*one)) || quiet >= j.Window && !told {
		j.notified(one)
		one.Escalated = true
		return Escalate, i
	}
	return Suppressed, i
}

// find is the incident that an alert belongs to, -1 for none.
func (j *judging) find(a Alert) int {
	return slices.IndexFunc(j.list, func(i Incident) bool {
		if i.Status != active {
			return false
		}
		outage := i.Type == networkOutage && i.Group == a.Group && a.Group != "" && (!a.Recovery || slices.Contains(i.AffectedHosts, a.Host))
		return i.DedupKey == a.Key || outage
	})
}

// old reports whether an alert was made before what it speaks of was over: a
// dead letter that was sent again.
func (j *judging) old(a Alert) bool {
	return slices.ContainsFunc(j.list, func(i Incident) bool {
		of := i.DedupKey == a.Key || i.Type == networkOutage && slices.Contains(i.AffectedHosts, a.Host) && i.Group == a.Group
		return i.Status == resolved && of && i.ResolvedAt != nil && !a.At.After(*i.ResolvedAt)
	})
}

// begin makes an incident, or an outage of several.
func (j *judging) begin(a Alert) (Verdict, int) {
	one := Incident{
		ID: j.name(a), DedupKey: a.Key, Type: serviceAlert, Scope: strings.Trim(a.Host+"/"+a.Check, "/"), FirstSeen: a.At, LastSeen: a.At,
		AlertCount: 1, Status: active, Group: a.Group, Subject: a.Subject,
	}
	if a.Host != "" {
		one.AffectedHosts = []string{a.Host}
	}
	if outage := j.together(one); outage >= 0 {
		return Escalate, outage
	}
	j.notified(&one)
	j.list = append(j.list, one)
	return New, len(j.list) - 1
}

// together makes one outage of what fails in one group at the same time, and
// returns where it is; -1 if it is not enough.
func (j *judging) together(one Incident) int {
	part := func(i Incident) bool {
		return i.Status == active && i.Type == serviceAlert && i.Group == one.Group && one.FirstSeen.Sub(i.FirstSeen).Abs() <= j.OutageTime
	}
	hosts := slices.Clone(one.AffectedHosts)
	first, count := -1, one.AlertCount
	for n, i := range j.list {
		if !part(i) {
			continue
		}
		if count += i.AlertCount; first < 0 {
			first = n
		}
		for _, h := range i.AffectedHosts {
			if !slices.Contains(hosts, h) {
				hosts = append(hosts, h)
			}
		}
	}
	if one.Group == "" || first < 0 || j.OutageHosts == 0 || len(hosts) < j.OutageHosts {
		return -1
	}
	outage := j.list[first]
	outage.Type, outage.Scope, outage.AffectedHosts, outage.AlertCount, outage.LastSeen, outage.Escalated = networkOutage, one.Group, hosts, count, one.LastSeen, true
	outage.DedupKey = "outage_" + one.Group
	j.notified(&outage)
	j.list = slices.DeleteFunc(j.list, part)
	j.list = append(j.list, outage)
	return len(j.list) - 1
}

// recover ends an incident, or takes one host out of an outage.
func (j *judging) recover(n int, a Alert) (Verdict, int) {
	one := &j.list[n]
	one.LastSeen = a.At
	j.notified(one)
	if one.Type == networkOutage {
		one.AffectedHosts = slices.DeleteFunc(slices.Clone(one.AffectedHosts), func(h string) bool { return h == a.Host })
		if len(one.AffectedHosts) > 0 {
			return Escalate, n // a partial recovery
		}
	}
	one.Status, one.ResolvedAt = resolved, stampedUp(a.At, j.now)
	return Recovery, n
}

// stampedUp is when something was over: as its sender says, but not after now by
// a clock that is ahead.
func stampedUp(at, now time.Time) *time.Time {
	if at.After(now) {
		at = now
	}
	at = at.UTC()
	return &at
}

func (j *judging) notified(i *Incident) { i.LastNotifiedOperator = stamped(j.now) }

// name is an id that no other incident has.
func (j *judging) name(a Alert) string {
	base := "inc_" + j.now.UTC().Format("20060102") + "_" + safe(a.Key)
	for n := 1; ; n++ {
		id := base
		if n > 1 {
			id = fmt.Sprintf("%s_%d", base, n)
		}
		if !slices.ContainsFunc(j.list, func(i Incident) bool { return i.ID == id }) {
			return id
		}
	}
}

// safe is a text that can be part of the name of a file.
func safe(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), 80)]
}

// Summaries are the incidents that are to be summed up now, and when there will
// be the next, zero for never. They are untold until Told.
func (s *Store) Summaries(p Policy) (due []Incident, next time.Time, _ error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := judging{p, s.now(), slices.Clone(s.incidents.Incidents)}
	for n := range j.list {
		i := &j.list[n]
		if i.Status != active {
			continue
		}
		if !j.now.Before(p.due(*i)) {
			j.notified(i)
			i.Escalated = true
			if i.Untold == "" {
				i.Untold = Summary
			}
			due = append(due, *i)
		}
		if at := p.due(*i); next.IsZero() || at.Before(next) {
			next = at
		}
	}
	if len(due) == 0 {
		return nil, next, nil
	}
	if err := s.write(incidentsFile, incidents{j.list}); err != nil {
		return nil, next, err
	}
	s.incidents.Incidents = j.list
	return due, next, nil
}

// Untold are the incidents of which something is to be told.
func (s *Store) Untold() []Incident {
	return slices.DeleteFunc(s.Incidents(), func(i Incident) bool { return i.Untold == "" })
}

// Told notes that people will hear what was to be told of an incident.
func (s *Store) Told(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Clone(s.incidents.Incidents)
	n := slices.IndexFunc(list, func(i Incident) bool { return i.ID == id && i.Untold != "" })
	if n < 0 {
		return nil
	}
	list[n].Untold = ""
	if err := s.write(incidentsFile, incidents{list}); err != nil {
		return err
	}
	s.incidents.Incidents = list
	return nil
}

// Incidents are all that are known, the oldest first.
func (s *Store) Incidents() []Incident {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.incidents.Incidents)
}
