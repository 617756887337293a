package output

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/terminal"
	"github.com/messkit/messkit/mess"
)

// Printer writes messages for people. The first error stays.
type Printer struct {
	Out      io.Writer
	All      bool              // print requests too
	Declined map[string]string // reason of each executor that declined, which the final status repeats; nil: none
	Err      error
}

// Printf prints text, unless an earlier call has failed.
func (p *Printer) Printf(format string, args ...any) {
	if p.Err == nil {
		_, p.Err = fmt.Fprintf(p.Out, format, args...)
	}
}

// Message prints every item of a message.
func (p *Printer) Message(m mess.Message) {
	for _, item := range m.Items {
		switch i := item.(type) {
		case *mess.Request:
			if p.All {
				p.Printf("  %s  asked by %s: %s\n", Clock(m.Received), Printable(m.From), Printable(i.Intent))
			}
		case *mess.Status:
			p.status(m, i)
		case *mess.Response:
			p.response(m, i)
		case *mess.Reply:
			p.reply(m, i)
		case *mess.Answer:
			p.Printf("  %s  %s answers: %s\n", Clock(m.Received), Printable(m.From), Printable(fmt.Sprint(i.Value)))
		case *mess.Cancel:
			p.Printf("  %s  %s cancels%s\n", Clock(m.Received), Printable(m.From), dash(i.Reason))
		case *mess.Suggestion:
			p.Printf("  %s  %s suggests: %s%s%s\n", Clock(m.Received), Printable(m.From), Printable(i.Type), proposal(i.Proposed), dash(i.Reason))
		}
	}
}

// status prints a status in one line, and its questions.
func (p *Printer) status(m mess.Message, s *mess.Status) {
	words := []string{WithSpaces(s.Code)}
	add := func(format string, args ...any) { words = append(words, fmt.Sprintf(format, args...)) }
	switch s.Code {
	case mess.Claimed:
		add("by %s", cmp.Or(s.Executor, m.From))
	case mess.NeedsConfirmation:
		add("%s", s.Action)
	case mess.Declined:
		if by := cmp.Or(s.Executor, m.From); by != "" && by != exchange.Self { // the exchange sums up, with names
			add("by %s", by)
			if p.Declined == nil {
				p.Declined = map[string]string{}
			}
			p.Declined[by] = cmp.Or(ReasonOf(s), s.Message, "gave no reason")
		}
	case mess.Delegated:
		if s.DelegatedTo != "" {
			add("to %s", s.DelegatedTo)
		}
	}
	if s.ProgressPct != nil {
		add("%.0f %%", *s.ProgressPct)
	}
	if d, err := s.Estimate.Duration(); s.Code == mess.Claimed && s.Estimate != "" && err == nil {
		add("(about %s)", d.Round(time.Second))
	}
	for _, text := range []string{s.Message, TimeLeft(s, m.Received, time.Time{}), ReasonOf(s)} {
		if m.From == exchange.Self { // do not repeat the lines above
			for by, reason := range p.Declined {
				text = strings.Replace(text, by+": "+reason, by, 1)
			}
		}
		if text != "" {
			add("%s", text)
		}
	}
	if s.Evidence != "" && (s.Reason == nil || s.Reason.Effect != mess.EffectUnknown) { // the reason has it already
		add("(%s)", WithSpaces(s.Evidence))
	}
	p.Printf("  %s  %s\n", Clock(m.Received), Printable(strings.Join(words, "  ")))
	p.details(s)
}

// WithoutChoices returns a question without the choices at its end: Printer lists them below.
func WithoutChoices(q mess.Question) string {
	head, rest, ends := strings.Cut(strings.TrimSuffix(q.Question, "?"), ": ")
	if !ends || len(q.Options) == 0 || !strings.HasSuffix(q.Question, "?") {
		return q.Question
	}
	longest := slices.SortedFunc(slices.Values(q.Options), func(a, b string) int { return len(b) - len(a) })
	for _, o := range longest {
		rest = strings.ReplaceAll(rest, o, "")
	}
	if strings.Trim(strings.ReplaceAll(rest, " or ", ""), ", ") != "" {
		return q.Question
	}
	return head + "?"
}

// details prints the further lines of a status.
func (p *Printer) details(s *mess.Status) {
	if s.Consequences != "" {
		p.Printf("            %s\n", Printable(s.Consequences))
	}
	for _, q := range s.Questions {
		p.Printf("            %s\n", Printable(WithoutChoices(q)))
		if len(q.Options) > 0 {
			p.Printf("            %s\n", Printable(strings.Join(q.Options, " | ")))
		}
	}
	for _, list := range []struct {
		name string
		what []any
	}{{"done", s.Completed}, {"not done", s.Remaining}} {
		if len(list.what) > 0 && (s.Reason == nil || !strings.Contains(s.Reason.Detail, "not done: ") && !strings.Contains(s.Reason.Detail, "not finished: ")) {
			p.Printf("            %s: %s\n", list.name, Printable(strings.Trim(fmt.Sprint(list.what...), "[]")))
		}
	}
	if s.Suggestion != "" {
		p.Printf("            suggestion: %s\n", Printable(s.Suggestion))
	}
}

// ReasonOf returns the reason of a status and its effect, in words.
func ReasonOf(s *mess.Status) string {
	r := s.Reason
	if r == nil {
		return ""
	}
	text := r.Detail
	if text == "" || text == s.Message {
		text = WithSpaces(r.Type)
	}
	switch r.Effect {
	case mess.EffectNone:
		if !strings.Contains(text, "nothing was done") {
			text += "; nothing was done"
		}
	case mess.EffectPartial:
		text += "; part of it happened"
	case mess.EffectUnknown:
		text += "; the outcome is unknown"
	}
	return text
}

// lateAfter is the delay of a report from which the printer mentions it.
const lateAfter = 5 * time.Second

// response prints a result. It adds the time if the report was late and the executor's clock is
// set.
func (p *Printer) response(m mess.Message, r *mess.Response) {
	known, kerr := r.CompletedAt.Time()
	received, herr := m.Received.Time()
	if _, unset := r.Extra.Get("clock"); kerr == nil && herr == nil && !unset && received.Sub(known) > lateAfter {
		p.Printf("as it was at %s, reported late:\n", Clock(r.CompletedAt))
	}
	hasText := slices.ContainsFunc(r.Content, func(e mess.Entry) bool { _, ok := e.Text(); return ok })
	for _, e := range r.Content {
		p.entry(e, hasText)
	}
	if r.Notes != "" {
		p.Printf("note: %s\n", PrintableLines(r.Notes))
	}
}

// entry prints a content entry. If hasText is true, the result contains a text, and entry leaves
// out data for programs.
func (p *Printer) entry(e mess.Entry, hasText bool) {
	if text, ok := e.Text(); ok {
		p.Printf("%s\n", PrintableLines(text))
		return
	}
	if yes, ok := e.Confirmation(); ok {
		p.Printf("%s%s\n", map[bool]string{true: "confirmed", false: "not so"}[yes.Confirmed], dash(yes.Details))
		return
	}
	if l, ok := e.Location(); ok {
		p.Printf("at %s\n", Printable(strings.Join(NonEmpty(l.Name, l.Address, l.Description, placeOf(l)), ", ")))
		return
	}
	if data, ok := e.Value.(mess.Object); ok && !hasText && (e.Type == "structured" || e.Type == "json") {
		p.fields("", data)
	}
}

// placeOf returns a location with its accuracy as text.
func placeOf(l mess.Location) string {
	if l.Lat == nil || l.Lng == nil {
		return ""
	}
	text := fmt.Sprintf("%.5f, %.5f", *l.Lat, *l.Lng)
	if l.Accuracy != nil {
		text += fmt.Sprintf(", to %.0f m", *l.Accuracy)
	}
	return text
}

// fields prints a line for each field, and indents nested fields under their name.
func (p *Printer) fields(indent string, o mess.Object) {
	for _, f := range o {
		if deeper, ok := f.Value.(mess.Object); ok {
			p.Printf("%s%s:\n", indent, Printable(f.Key))
			p.fields(indent+"  ", deeper)
			continue
		}
		p.Printf("%s%s: %s\n", indent, Printable(f.Key), Printable(fmt.Sprint(f.Value)))
	}
}

func (p *Printer) reply(m mess.Message, r *mess.Reply) {
	var words []string
	for _, f := range r.Answers {
		words = append(words, fmt.Sprintf("%s: %v", f.Key, f.Value))
	}
	for name, yes := range map[string]*bool{"confirms": r.Confirm, "accepts": r.Accept} {
		if yes != nil {
			words = append(words, map[bool]string{true: name, false: "says no"}[*yes])
		}
	}
	p.Printf("  %s  %s  %s%s\n", Clock(m.Received), Printable(m.From), Printable(strings.Join(words, ", ")), dash(r.Reason))
}

func dash(text string) string {
	if text == "" {
		return ""
	}
	return ": " + Printable(text)
}

// proposal returns the proposal of a suggestion, in brackets.
func proposal(proposed any) string {
	var parts []string
	switch v := proposed.(type) {
	case string:
		parts = NonEmpty(v)
	case mess.Object:
		for _, f := range v {
			parts = append(parts, fmt.Sprintf("%s %v", f.Key, f.Value))
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " (" + Printable(strings.Join(parts, ", ")) + ")"
}

// NonEmpty returns the texts of a list that are not empty.
func NonEmpty(list ...string) []string {
	var kept []string
	for _, s := range list {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return kept
}

// Clock is the local time of day.
func Clock(t mess.Time) string {
	at, err := t.Time()
	if err != nil {
		return "        "
	}
	return at.Local().Format(time.TimeOnly)
}

// Printable removes terminal control from text of other programs.
func Printable(s string) string { return terminal.Clean(s) }

// PrintableLines does the same as Printable, and keeps line ends.
func PrintableLines(s string) string { return terminal.CleanLines(s) }

// ThreadJSON is a thread for scripts.
func ThreadJSON(t httpclient.Thread) map[string]any {
	return map[string]any{
		"ref": t.Ref, "status": t.Status, "intent": t.Intent, "requestor": t.Requester, "executor": t.Executor,
		"priority": t.Priority, "created": t.Created, "updated": t.Updated, "messages": t.Messages,
	}
}

// WithSpaces returns a name of the protocol with spaces, as people write it.
func WithSpaces[T ~string](name T) string { return strings.ReplaceAll(string(name), "_", " ") }
