package client

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/terminal"
	"github.com/messkit/messkit/mess"
)

// OpenQuestion is a question of the executor to the person at the terminal.
type OpenQuestion struct {
	key     string // identifies this question within the thread
	Re      string // the message that asks
	Status  *mess.Status
	answers mess.Object // so far
}

// ask asks the person at the terminal the open question. Without a terminal it prints the
// command that answers.
func (f *Follower) ask() error {
	s, asked := mess.LastStatus(f.thread.Messages)
	re := asked.Ref
	open := s != nil && s.Code == f.thread.Status && (s.Code == mess.NeedsInput || s.Code == mess.NeedsConfirmation)
	if !open || f.w.AsJSON {
		return f.withdrawQuestion()
	}
	q := &OpenQuestion{key: "asked " + re + " " + s.ID, Re: cmp.Or(re, f.ref), Status: s}
	if f.asking != nil && f.asking.key == q.key {
		return nil
	}
	if err := f.withdrawQuestion(); err != nil || f.seen[q.key] {
		return err
	}
	f.seen[q.key] = true
	in, ok := f.app.In.(*os.File)
	if !ok || !terminal.IsTerminal(in) {
		return f.howToAnswer(s, re)
	}
	f.asking = q
	return f.prompt(in)
}

// withdrawQuestion withdraws a question that is no longer open: another person has answered, or the
// thread has ended.
func (f *Follower) withdrawQuestion() error {
	if f.asking == nil {
		return nil
	}
	f.asking = nil
	_, err := fmt.Fprintln(f.out)
	return err
}

// howToAnswer prints the command that answers. It names the question, so that the answer
// cannot confirm another one.
func (f *Follower) howToAnswer(s *mess.Status, re string) error {
	ref := f.ref
	if s.Code == mess.NeedsConfirmation {
		ref = cmp.Or(re, f.ref)
	}
	_, err := fmt.Fprintf(f.out, "  answer with: %s\n", howToReply(ref, s))
	return err
}

// prompt asks for the next answer.
func (f *Follower) prompt(in io.Reader) error {
	text := "  do it? [y/N] "
	if q, ok := f.asking.next(); ok {
		text = "  " + output.Printable(q.Key()) + "? "
	}
	if f.live != nil {
		if err := f.live.Draw(); err != nil {
			return err
		}
	}
	f.keys.read(in)
	_, err := io.WriteString(f.out, text)
	return err
}

// next returns the first question without an answer; a confirmation has none.
func (q *OpenQuestion) next() (mess.Question, bool) {
	if n := len(q.answers); q.Status.Code == mess.NeedsInput && n < len(q.Status.Questions) {
		return q.Status.Questions[n], true
	}
	return mess.Question{}, false
}

// typed handles a line from the keyboard.
func (f *Follower) typed(ctx context.Context, line typedLine) error {
	f.keys.taken()
	if errors.Is(line.err, io.EOF) && f.asking != nil { // the input has ended
		q := f.asking
		_, err := fmt.Fprintln(f.out, "\n  left to others; this waits for their answer, and Ctrl-C ends the waiting")
		f.asking = nil
		return errors.Join(err, f.howToAnswer(q.Status, q.Re), f.draw())
	}
	if line.err != nil || f.asking == nil {
		return line.err
	}
	q := f.asking
	r := &mess.Reply{Re: mess.Refs{q.Re}}
	if open, ok := q.next(); ok {
		if line.text == "" {
			return f.askAgain("write an answer; Ctrl-D leaves the question to others")
		}
		if q.answers = append(q.answers, mess.Field{Key: open.Key(), Value: line.text}); len(q.answers) < len(q.Status.Questions) {
			return f.prompt(f.app.In)
		}
		r.Answers = q.answers
	} else {
		yes, ok := YesOrNo(line.text)
		if !ok {
			return f.askAgain("write y or n")
		}
		r.Confirm = &yes
	}
	f.asking = nil
	_, err := f.x.Send(httpclient.Typed(ctx), mess.Message{Items: []mess.Item{r}})
	if errors.Is(err, mess.Forbidden) && r.Confirm != nil { // another method confirms it; continue to wait
		ref, _, _ := strings.Cut(q.Re, "/")
		how := ""
		if h, ok := errors.AsType[*output.HintError](HintUnconfirmed(err, r, ref)); ok {
			how = fmt.Sprintf("  %s\n", h.Hint)
		}
		_, err = fmt.Fprintf(f.out, "  %s\n%s", output.Printable(err.Error()), how)
	}
	return err
}

// askAgain asks once more, with a hint.
func (f *Follower) askAgain(how string) error {
	if _, err := fmt.Fprintf(f.out, "  %s\n", how); err != nil {
		return err
	}
	return f.prompt(f.app.In)
}

// keyboard reads lines in the background. A program cannot cancel a read of a terminal, so
// at most one waits, until the program ends.
type keyboard struct {
	in    *bufio.Reader
	lines chan typedLine // nil before the first read
	busy  bool
}

type typedLine struct {
	text string
	err  error
}

func (k *keyboard) read(from io.Reader) {
	if k.busy {
		return
	}
	if k.in == nil {
		k.in, k.lines = bufio.NewReader(from), make(chan typedLine, 1)
	}
	k.busy = true
	go func() {
		line, err := k.in.ReadString('\n')
		k.lines <- typedLine{strings.TrimSpace(line), err}
	}()
}

// taken records that the follower has received a line.
func (k *keyboard) taken() { k.busy = false }

// HintUnconfirmed adds a remedy to the error of a rejected confirmation.
func HintUnconfirmed(err error, r *mess.Reply, ref string) error {
	refused, ok := errors.AsType[*mess.Error](err)
	if r.Confirm == nil || !*r.Confirm || !ok || refused.Code != mess.Forbidden || !strings.HasPrefix(refused.Text, "confirm: ") {
		return err
	}
	const link = "messkit console at a terminal of the exchange's machine shows a link to the page"
	switch {
	case strings.HasSuffix(refused.Text, "(exchange: confirm: terminal)"):
		return output.Hint(err, "messkit reply %s without --yes asks you at a terminal of the exchange's machine; %s", ref, link)
	case strings.HasSuffix(refused.Text, "(exchange: confirm: code)"):
		return output.Hint(err, "messkit reply %s --code CODE sends the code that the page shows; %s", ref, link)
	}
	return output.Hint(err, link)
}
