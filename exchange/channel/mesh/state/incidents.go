package state

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Incident is a problem that one or more alerts report (MESH 1.0 section 9).
type Incident struct {
	ID                   string     `json:"id"`
	DedupKey             string     `json:"dedupKey"`
	Type                 string     `json:"type"`  // service_alert or network_outage
	Scope                string     `json:"scope"` // host/check; for an outage: the group of its hosts
	FirstSeen            time.Time  `json:"firstSeen"`
	LastSeen             time.Time  `json:"lastSeen"`
	AlertCount           int        `json:"alertCount"`
	AffectedHosts        []string   `json:"affectedHosts"`
	Status               string     `json:"status"` // active or resolved
	Escalated            bool       `json:"escalated"`
	LastNotifiedOperator *time.Time `json:"lastNotifiedOperator"`
	ResolvedAt           *time.Time `json:"resolvedAt,omitempty"`

	Group   string      `json:"group,omitempty"`   // hosts of one group can be one outage
	Subject string      `json:"subject,omitempty"` // subject of the first alert
	Pending AlertEffect `json:"untold,omitempty"`  // change that people may not know yet
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

// Alert is the content of an alert.
type Alert struct {
	Host, Check, Key, Group, Subject string
	At                               time.Time // by the clock of the sender
	Recovery                         bool
}

// AlertEffect is the effect of an alert on its incident.
type AlertEffect string

// The effects of an alert (section 9, "Implementation"). All but Suppressed notify the operator.
const (
	New        AlertEffect = "new"        // a new incident
	Suppressed AlertEffect = "suppressed" // the alert is only counted
	Escalate   AlertEffect = "escalate"   // more hosts, or it lasts
	Recovery   AlertEffect = "recovery"   // the incident is over
	Summary    AlertEffect = "summary"    // it lasts; Summaries returns it, and no alert
)

// Policy has the intervals after which the agent notifies the operator again (section 9, "Alert
// Escalation Policy").
type Policy struct {
	Window      time.Duration // after a notification; alerts in it are only counted
	Summary     time.Duration // from the first alert to the first summary
	Later       time.Duration // between later summaries
	OutageHosts int           // hosts of one group that make an outage; 0: never
	OutageTime  time.Duration // time within which they fail
	Keep        time.Duration // how long the store keeps a resolved incident
}

// DefaultPolicy returns the policy of the specification.
func DefaultPolicy() Policy {
	return Policy{30 * time.Minute, time.Hour, 2 * time.Hour, 3, 5 * time.Minute, 30 * 24 * time.Hour}
}

// due returns the time of the next summary of an incident.
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

// Judge assigns an alert to an incident and returns its effect. The change stays pending until the
// caller calls MarkReported.
func (s *Store) Judge(p Policy, a Alert) (AlertEffect, Incident, error) {
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
		j.list[at].Pending = v
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

func (j *judging) judge(a Alert) (AlertEffect, int) {
	i := j.find(a)
	switch {
	case a.Recovery && (i < 0 || a.At.Before(j.list[i].LastSeen)):
		return Suppressed, i // the recovery of an unknown incident, or older than its last alert
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
	notified := one.LastNotifiedOperator != nil && j.now.Sub(*one.LastNotifiedOperator) < j.Window
	if !j.now.Before(j.due(*one)) || quiet >= j.Window && !notified {
		j.notified(one)
		one.Escalated = true
		return Escalate, i
	}
	return Suppressed, i
}

// find returns the index of the incident of an alert, -1 for none.
func (j *judging) find(a Alert) int {
	return slices.IndexFunc(j.list, func(i Incident) bool {
		if i.Status != active {
			return false
		}
		outage := i.Type == networkOutage && i.Group == a.Group && a.Group != "" && (!a.Recovery || slices.Contains(i.AffectedHosts, a.Host))
		return i.DedupKey == a.Key || outage
	})
}

// old reports whether an alert is older than the end of its incident. Such an alert is a dead
// message that the peer has sent again.
func (j *judging) old(a Alert) bool {
	return slices.ContainsFunc(j.list, func(i Incident) bool {
		of := i.DedupKey == a.Key || i.Type == networkOutage && slices.Contains(i.AffectedHosts, a.Host) && i.Group == a.Group
		return i.Status == resolved && of && i.ResolvedAt != nil && !a.At.After(*i.ResolvedAt)
	})
}

// begin makes an incident, or joins several to an outage.
func (j *judging) begin(a Alert) (AlertEffect, int) {
	one := Incident{
		ID: j.name(a), DedupKey: a.Key, Type: serviceAlert, Scope: strings.Trim(a.Host+"/"+a.Check, "/"), FirstSeen: a.At, LastSeen: a.At,
		AlertCount: 1, Status: active, Group: a.Group, Subject: a.Subject,
	}
	if a.Host != "" {
		one.AffectedHosts = []string{a.Host}
	}
	if outage := j.joinOutage(one); outage >= 0 {
		return Escalate, outage
	}
	j.notified(&one)
	j.list = append(j.list, one)
	return New, len(j.list) - 1
}

// joinOutage joins the incidents of a group to an outage and returns its index, -1 if there are too
// few.
func (j *judging) joinOutage(one Incident) int {
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

// recover ends an incident, or removes a host from an outage.
func (j *judging) recover(n int, a Alert) (AlertEffect, int) {
	one := &j.list[n]
	one.LastSeen = a.At
	j.notified(one)
	if one.Type == networkOutage {
		one.AffectedHosts = slices.DeleteFunc(slices.Clone(one.AffectedHosts), func(h string) bool { return h == a.Host })
		if len(one.AffectedHosts) > 0 {
			return Escalate, n // some hosts have recovered
		}
	}
	one.Status, one.ResolvedAt = resolved, stampedUp(a.At, j.now)
	return Recovery, n
}

// stampedUp returns the end of an incident by the clock of the sender, but never a time in the
// future.
func stampedUp(at, now time.Time) *time.Time {
	if at.After(now) {
		at = now
	}
	at = at.UTC()
	return &at
}

func (j *judging) notified(i *Incident) { i.LastNotifiedOperator = stamped(j.now) }

// name returns an unused id.
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

// safe replaces the characters of a text that a file name must not contain.
func safe(s string) string {
	s = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), 80)]
}

// Summaries returns the incidents that need a summary now, and the time of the next summary, zero
// for never. The summaries stay pending until the caller calls MarkReported.
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
			i.Pending = cmp.Or(i.Pending, Summary)
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

// Pending returns the incidents with a pending change.
func (s *Store) Pending() []Incident {
	return slices.DeleteFunc(s.Incidents(), func(i Incident) bool { return i.Pending == "" })
}

// MarkReported records that the caller will notify people of the pending change of an incident.
func (s *Store) MarkReported(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Clone(s.incidents.Incidents)
	n := slices.IndexFunc(list, func(i Incident) bool { return i.ID == id && i.Pending != "" })
	if n < 0 {
		return nil
	}
	list[n].Pending = ""
	if err := s.write(incidentsFile, incidents{list}); err != nil {
		return err
	}
	s.incidents.Incidents = list
	return nil
}

// Incidents returns all incidents, the oldest first.
func (s *Store) Incidents() []Incident {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.incidents.Incidents)
}
