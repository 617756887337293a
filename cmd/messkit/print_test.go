package main

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
)

// The printed line names the executor that declines, unless the exchange sums up, and the target
// of a delegation.
func TestPrintedLineNamesDeclinerAndTarget(t *testing.T) {
	for _, c := range []struct {
		from, want string
		status     mess.Status
	}{
		{"ana", "declined  by ana  my back hurts", mess.Status{Code: mess.Declined, Reason: &mess.Reason{Detail: "my back hurts"}}},
		{"exchange", "declined  ana: my back hurts", mess.Status{Code: mess.Declined, Reason: &mess.Reason{Detail: "ana: my back hurts"}}},
		{"ana", "delegated  to ben", mess.Status{Code: mess.Delegated, DelegatedTo: "ben"}},
	} {
		var out strings.Builder
		p := output.Printer{Out: &out}
		p.Message(mess.Message{From: c.from, Items: []mess.Item{&c.status}})
		if got := strings.TrimSpace(out.String()); p.Err != nil || got != c.want {
			t.Errorf("%v: %q, want %q", p.Err, got, c.want)
		}
	}
}

// The printer shows the reason of a declined task once. A later summary contains only the names.
func TestSummaryDoesNotRepeatReason(t *testing.T) {
	no := func(from, detail string) mess.Message {
		return mess.Message{From: from, Items: []mess.Item{&mess.Status{Code: mess.Declined, Reason: &mess.Reason{Detail: detail}}}}
	}
	var out strings.Builder
	p := output.Printer{Out: &out}
	p.Message(no("kitchen-pi", "not understood: \"fetch\""))
	p.Message(mess.Message{From: "exchange", Items: []mess.Item{&mess.Status{Code: mess.Pending, Message: "no robot here does it (kitchen-pi: not understood: \"fetch\"); offered to ana"}}})
	p.Message(no("ana", "my back hurts"))
	p.Message(no("exchange", "kitchen-pi: not understood: \"fetch\"; ana: my back hurts; ben: away"))
	const want = `declined  by kitchen-pi  not understood: "fetch"
pending  no robot here does it (kitchen-pi); offered to ana
declined  by ana  my back hurts
declined  kitchen-pi; ana; ben: away
`
	if got := strings.ReplaceAll(out.String(), "            ", ""); p.Err != nil || got != want {
		t.Errorf("%v: %s", p.Err, got)
	}
}

// The printer shows the text of a response. It shows structured data only without a text.
func TestPrinterPrefersText(t *testing.T) {
	lat, lng, exactly := 52.5, 13.4, 5.0
	milk := mess.ObjectEntry("structured", mess.Object{{Key: "milk", Value: true}, {Key: "eggs", Value: mess.Object{{Key: "count", Value: 6}}}})
	for _, c := range []struct {
		want    string
		content []mess.Entry
	}{
		{"milk: true\neggs:\n  count: 6\n", []mess.Entry{milk}},
		{"There is milk.\n", []mess.Entry{milk, mess.TextEntry("There is milk.")}},
		{"at 52.50000, 13.40000, to 5 m\n", []mess.Entry{mess.ObjectEntry("location", mess.Location{Lat: &lat, Lng: &lng, Accuracy: &exactly})}},
		{"at the shed, 52.50000, 13.40000\n", []mess.Entry{mess.ObjectEntry("location", mess.Location{Name: "the shed", Lat: &lat, Lng: &lng})}},
		{"at the shed\n", []mess.Entry{mess.ObjectEntry("location", mess.Location{Name: "the shed"})}},
	} {
		var out strings.Builder
		p := output.Printer{Out: &out}
		p.Message(mess.Message{From: "ana", Items: []mess.Item{&mess.Response{Content: c.content}}})
		if got := out.String(); p.Err != nil || got != c.want {
			t.Errorf("%v: %q, want %q", p.Err, got, c.want)
		}
	}
}
