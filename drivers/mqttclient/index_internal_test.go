package mqttclient

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// Examples of MQTT 3.1.1 §4.7.
func TestMatch(t *testing.T) {
	for _, c := range []struct {
		filter, topic string
		want          bool
	}{
		{"sport/tennis/player1/#", "sport/tennis/player1", true},
		{"sport/tennis/player1/#", "sport/tennis/player1/ranking", true},
		{"sport/tennis/player1/#", "sport/tennis/player1/score/wimbledon", true},
		{"sport/#", "sport", true},
		{"#", "sport/tennis", true},
		{"sport/tennis/+", "sport/tennis/player1", true},
		{"sport/tennis/+", "sport/tennis/player1/ranking", false},
		{"sport/+", "sport", false},
		{"sport/+", "sport/", true},
		{"+/+", "/finance", true},
		{"/+", "/finance", true},
		{"+", "/finance", false},
		{"#", "$SYS/uptime", false},
		{"+/uptime", "$SYS/uptime", false},
		{"$SYS/#", "$SYS/uptime", true},
		{"$SYS/+", "$SYS/uptime", true},
		{"a/b", "a/b", true},
		{"a/b", "a/c", false},
		{"a//b", "a//b", true},
		{"a/+/b", "a//b", true},
	} {
		var x index
		x.add(c.filter, new(Member))
		got := len(matches(&x, c.topic)) == 1
		if got != c.want {
			t.Errorf("%s matches %s: %t, want %t", c.filter, c.topic, got, c.want)
		}
	}
}

func matches(x *index, topic string) (filters []string) {
	x.match(topic, func(e *entry) { filters = append(filters, e.filter) })
	slices.Sort(filters)
	return filters
}

// slowly implements §4.7 literally.
func slowly(filter, topic string) bool {
	f, t := strings.Split(filter, "/"), strings.Split(topic, "/")
	if strings.HasPrefix(topic, "$") && (f[0] == "+" || f[0] == "#") {
		return false
	}
	for i, level := range f {
		switch {
		case level == "#":
			return true
		case i >= len(t) || level != "+" && level != t[i]:
			return false
		}
	}
	return len(f) == len(t)
}

// The index finds the same filters as a linear search, and is empty after all filters are
// gone.
func FuzzIndex(f *testing.F) {
	f.Add("a/b,a/+,#,+/b,a/b/#,$x/+", "a/b")
	f.Add("a//b,/,+,+/+,/#", "/")
	f.Add("$x/#,$x,+/#", "$x")
	f.Fuzz(func(t *testing.T, list, topic string) {
		var x index
		var want, filters []string
		if strings.ContainsAny(topic, "+#") {
			return
		}
		for _, filter := range strings.Split(list, ",") {
			if !validFilter(filter) || slices.Contains(filters, filter) {
				continue
			}
			filters = append(filters, filter)
			x.add(filter, new(Member))
			if slowly(filter, topic) {
				want = append(want, filter)
			}
		}
		slices.Sort(want)
		if got := matches(&x, topic); !slices.Equal(got, want) {
			t.Errorf("%q matches %q of %q, want %q", topic, got, filters, want)
		}
		for _, filter := range filters {
			if !x.remove(filter, x.find(filter).subs[0].m) {
				t.Errorf("filter %q still has a member", filter)
			}
		}
		if len(x.exact)+len(x.wildcards.next) != 0 || x.wildcards.entry != nil {
			t.Error("filters are left")
		}
	})
}

// validFilter implements §4.7.1: a wildcard is a level of its own, and # is the last level.
func validFilter(filter string) bool {
	levels := strings.Split(filter, "/")
	for i, level := range levels {
		if strings.ContainsAny(level, "+#") && len(level) > 1 || level == "#" && i < len(levels)-1 {
			return false
		}
	}
	return filter != ""
}

// A search among 100,000 filters takes as long as among 100. The factor allows for caches
// and a busy host; a linear search would take 1,000 times as long.
func TestMatchDoesNotGrow(t *testing.T) {
	best := func(n int) time.Duration {
		var x index
		for i := range n {
			x.add(fmt.Sprintf("stat/plug%d/POWER", i), new(Member))
			x.add(fmt.Sprintf("tele/plug%d/+", i), new(Member))
		}
		least := time.Hour
		for range 20 {
			begun := time.Now()
			for i := range 1000 {
				if len(matches(&x, fmt.Sprintf("stat/plug%d/POWER", i%n)))+len(matches(&x, fmt.Sprintf("tele/plug%d/LWT", i%n))) != 2 {
					t.Fatal("not found")
				}
			}
			least = min(least, time.Since(begun))
		}
		return least
	}
	if few, many := best(100), best(100_000); many > 20*few {
		t.Errorf("%v among 100,000 devices, %v among 100", many, few)
	}
}
