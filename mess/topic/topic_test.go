package topic_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/mess/topic"
)

func TestTopics(t *testing.T) {
	r := topic.Of("home")
	for _, c := range []struct {
		text string
		want topic.Topic
	}{
		{r.Exchange(), topic.Topic{Kind: topic.ExchangeStatus}},
		{r.Stop(), topic.Topic{Kind: topic.StopLatch}},
		{r.Executor("pi", topic.Status), topic.Topic{Kind: topic.ExecutorStatus, ID: "pi"}},
		{r.Executor("pi", topic.Card), topic.Topic{Kind: topic.ExecutorCard, ID: "pi"}},
		{r.Executor("pi", topic.In), topic.Topic{Kind: topic.ExecutorIn, ID: "pi"}},
		{r.Executor("pi", topic.Now), topic.Topic{Kind: topic.ExecutorNow, ID: "pi"}},
		{r.Executor("pi", topic.Out), topic.Topic{Kind: topic.ExecutorOut, ID: "pi"}},
		{r.Agent("me", topic.Out), topic.Topic{Kind: topic.AgentOut, ID: "me"}},
		{r.Agent("me", topic.In), topic.Topic{Kind: topic.AgentIn, ID: "me"}},
		{r.State("2026-11-21-001"), topic.Topic{Kind: topic.ThreadState, ID: "2026-11-21-001"}},
		{r.Home("Pi_1", "switch-lamp"), topic.Topic{Kind: topic.HomeState, ID: "Pi_1", Name: "switch-lamp"}},
		{r.Attachment("2026-11-21-001", "a.jpg"), topic.Topic{Kind: topic.ThreadFile, ID: "2026-11-21-001", Name: "a.jpg"}},
	} {
		if got, ok := r.Parse(c.text); !ok || got != c.want {
			t.Errorf("Parse(%s) = %+v, %v; want %+v", c.text, got, ok, c.want)
		}
		if got := topic.Exchange(c.text); got != "home" {
			t.Errorf("Exchange(%s) = %q", c.text, got)
		}
	}
}

func TestInvalidTopicsAreRejected(t *testing.T) {
	r := topic.Of("home")
	for _, text := range []string{
		"", "mess/1/home", "mess/1/home/", "mess/1/other/stop", "mess/2/home/stop", "mess/1/home/e", "mess/1/home/e/pi", "mess/1/home/e/pi/",
		"mess/1/home/e//in", "mess/1/home/e/+/in", "mess/1/home/e/#", "mess/1/home/e/Pi/in", "mess/1/home/e/-pi/in", "mess/1/home/e/p:i/in",
		"mess/1/home/e/" + strings.Repeat("p", 65) + "/in", "mess/1/home/e/pi/in/", "mess/1/home/e/pi/in/more", "mess/1/home/a/me/now",
		"mess/1/home/a/me/status", "mess/1/home/t/x/att", "mess/1/home/t/x/att/", "mess/1/home/t/x/att/a/b", "mess/1/home/t/../state",
		"mess/1/home/t/x/att/..", "mess/1/home/stop/", "mess/1/home/h/pi", "mess/1/home/h/pi/", "mess/1/home/h/pi/../x", "mess/1/home/STOP", "$SYS/broker", "mess/1/home/e/pi\x00/in",
	} {
		if got, ok := r.Parse(text); ok {
			t.Errorf("Parse(%q) = %+v", text, got)
		}
	}
}

func TestFilters(t *testing.T) {
	r := topic.Of("home")
	for text, want := range map[string]bool{
		r.Executor(topic.Wild, topic.Status): true, r.State(topic.Wild): true, r.Attachment(topic.Wild, topic.Wild): true,
		r.Executor("pi", topic.In): true, r.Stop(): true,
		"mess/1/home/#": false, "#": false, "+/+/home/stop": false, "mess/1/home/e/+/#": false, "mess/1/home/e/pi/+": false, "mess/1/home/+/pi/in": false,
		"$share/g/mess/1/home/e/pi/in": false,
	} {
		if _, ok := r.ParseFilter(text); ok != want {
			t.Errorf("ParseFilter(%s): %v", text, ok)
		}
	}
}

// A topic equals the one built from its parsed parts.
func FuzzParse(f *testing.F) {
	r := topic.Of("home")
	for _, s := range []string{r.Stop(), r.Exchange(), r.Executor("pi", topic.In), r.Agent("me", topic.Out), r.State("x"), r.Attachment("x", "y"), r.Home("x", "y"), "mess/1/home/e/+/in", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, ok := r.Parse(s)
		if !ok {
			return
		}
		var again string
		kind, leaf, _ := strings.Cut(string(got.Kind), "/")
		switch {
		case got.Kind == topic.StopLatch:
			again = r.Stop()
		case got.Kind == topic.ExchangeStatus:
			again = r.Exchange()
		case kind == "e":
			again = r.Executor(got.ID, topic.Leaf(leaf))
		case kind == "a":
			again = r.Agent(got.ID, topic.Leaf(leaf))
		case got.Kind == topic.HomeState:
			again = r.Home(got.ID, got.Name)
		case got.Kind == topic.ThreadState:
			again = r.State(got.ID)
		default:
			again = r.Attachment(got.ID, got.Name)
		}
		if again != s || strings.ContainsAny(s, "+#\x00") || topic.Exchange(s) != "home" {
			t.Errorf("%q is %+v, and that is %q", s, got, again)
		}
		if _, ok := r.ParseFilter(s); !ok {
			t.Errorf("%q is a topic and no filter", s)
		}
	})
}
