package client

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/order"
	"github.com/messkit/messkit/internal/terminal"
	"github.com/messkit/messkit/mess"
)

// TaskBoard is the dashboard of `messkit watch`: executors, stops, and threads with their
// states. It does no I/O; AddMessages and Snapshot.To fill it.
type TaskBoard struct {
	Where      string // the exchange's address
	Executors  []httpclient.Executor
	Threads    []httpclient.Thread     // newest change first
	LastStatus map[string]*mess.Status // by thread, the last report
	err        error                   // error of the last update; nil: none
}

// AddMessages adds new messages of a thread.
func (b *TaskBoard) AddMessages(ref string, messages ...mess.Message) {
	if s, _ := mess.LastStatus(messages); s != nil && ref != "" {
		b.LastStatus[ref] = s
	}
}

// forget drops the reports of threads that the board does not show.
func (b *TaskBoard) forget() {
	there := map[string]bool{}
	for _, t := range b.Threads {
		there[t.Ref] = true
	}
	for ref := range b.LastStatus {
		if !there[ref] {
			delete(b.LastStatus, ref)
		}
	}
}

// Lines returns the board at a time, at most rows lines of columns width. Threads that wait
// for an answer come first and ended ones last. The last line counts the open threads that do
// not fit.
func (b *TaskBoard) Lines(now time.Time, columns, rows int) []string {
	open := countOpen(b.Threads)
	list := folded(fmt.Sprintf("%s  %s  %d open  %s", now.Local().Format(time.TimeOnly), b.Where, open, output.Count(len(b.Executors), "executor")), columns)
	if b.err != nil {
		list = append(list, folded("NOT REACHED  "+b.err.Error(), columns)...)
	}
	list = append(list, "")
	for _, e := range b.Executors {
		list = append(list, folded(fmt.Sprintf("%-20s  %s", e.ID, output.ExecutorState(e)), columns)...)
	}
	list = append(list, "")
	foot := append([]string{""}, folded("messkit stop takes everything to its safe state; Ctrl-C leaves this page", columns)...)
	threads := slices.Clone(b.Threads)
	order.By(threads, func(x, y httpclient.Thread) int { return cmp.Compare(turn(x), turn(y)) })
	tasks, shown := b.tasks(threads, now, columns, rows-len(list)-len(foot))
	list = append(list, tasks...)
	if more := open - countOpen(threads[:shown]); more > 0 {
		foot[0] = fmt.Sprintf("%d more open: messkit ls", more)
	}
	if len(threads) == 0 {
		list = append(list, `no requests yet: messkit ask "what's in the fridge?"`)
	}
	return append(list, foot...)
}

// mostLines is the most lines of one thread, without the one on how to answer.
const mostLines = 3

// tasks returns at most rows lines of threads with aligned columns, and the number of threads
// in them.
func (b *TaskBoard) tasks(threads []httpclient.Thread, now time.Time, columns, rows int) (list []string, shown int) {
	threads = threads[:max(0, min(len(threads), rows))]
	var ref, status, executor int
	names := shortest(b.Threads)
	for _, t := range threads {
		ref, status, executor = max(ref, terminal.Width(names[t.Ref])), max(status, len(t.Status)), max(executor, terminal.Width(t.Executor))
	}
	for _, t := range threads {
		s := b.LastStatus[t.Ref]
		if s != nil && s.Code != t.Status {
			s = nil // the report belongs to an earlier state
		}
		words := []string{padded(names[t.Ref], ref), padded(output.WithSpaces(t.Status), status), fmt.Sprintf("%4s", age(now.Sub(t.Updated)))}
		if executor > 0 {
			words = append(words, padded(t.Executor, executor))
		}
		block := folded(strings.Join(append(words, output.NonEmpty(append([]string{t.Intent}, statusLines(s)...)...)...), "  "), columns)
		block = block[:min(mostLines, len(block))]
		if how := howToReply(names[t.Ref], s); how != "" {
			block = append(block, folded("  "+how, columns)...)
		}
		if len(list)+len(block) > rows {
			break
		}
		list = append(list, block...)
		shown++
	}
	return list, shown
}

// shortest returns for each thread the shortest beginning of its ref that is unique among
// them: the day and the whole number, or the whole ref.
func shortest(threads []httpclient.Thread) map[string]string {
	refs, names := make([]string, len(threads)), map[string]string{}
	for i, t := range threads {
		refs[i] = t.Ref
	}
	for _, ref := range refs {
		names[ref] = ref
		if parts := strings.SplitN(ref, "-", 5); len(parts) == 5 {
			if short := strings.Join(parts[:4], "-"); len(Begun(short, refs)) == 1 {
				names[ref] = short
			}
		}
	}
	return names
}

// folded breaks a text into lines of a width. 0 columns means an unknown width.
func folded(text string, columns int) (list []string) {
	line := ""
	for _, word := range strings.SplitAfter(text, " ") {
		begun := strings.TrimSpace(line) != ""
		if begun && columns > 0 && terminal.Width(line+strings.TrimSuffix(word, " ")) > columns {
			list = append(list, strings.TrimRight(line, " "))
			line, begun = "  ", false
		}
		if begun || len(list) == 0 || word != " " {
			line += word
		}
	}
	return append(list, line)
}

// padded fills text with spaces to a column width.
func padded(text string, columns int) string {
	return text + strings.Repeat(" ", max(0, columns-terminal.Width(text)))
}

// statusLines returns the progress, the text and the question of a report; s may be nil.
func statusLines(s *mess.Status) (words []string) {
	if s == nil {
		return nil
	}
	if s.ProgressPct != nil {
		words = append(words, fmt.Sprintf("%s %3.0f %%", terminal.Bar(*s.ProgressPct/100, barWidth/2), *s.ProgressPct))
	}
	switch {
	case s.Code == mess.NeedsConfirmation:
		return append(words, s.Action)
	case len(s.Questions) > 0:
		return append(words, output.WithoutChoices(s.Questions[0]))
	}
	return append(words, cmp.Or(s.Message, output.ReasonOf(s)))
}

// howToReply returns the command that answers a thread, "" without a question; s may be nil.
func howToReply(ref string, s *mess.Status) string {
	switch {
	case s == nil:
	case s.Code == mess.NeedsConfirmation && s.ConfirmBy != "":
		return "messkit reply " + ref + "   (a person at a terminal; or on the page)"
	case s.Code == mess.NeedsConfirmation:
		return "messkit reply " + ref + " --yes   (or --no)"
	case s.Code == mess.NeedsInput:
		return "messkit reply " + ref + " ANSWER"
	}
	return ""
}

// turn returns the position of a thread's state on the board.
func turn(t httpclient.Thread) int {
	switch {
	case t.Status == mess.NeedsInput || t.Status == mess.NeedsConfirmation:
		return 0
	case !t.Status.Terminal():
		return 1
	}
	return 2
}

func countOpen(threads []httpclient.Thread) (n int) {
	for _, t := range threads {
		if !t.Status.Terminal() {
			n++
		}
	}
	return n
}

// age prints a duration in its largest unit.
func age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}
