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

	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/terminal"
	"github.com/messkit/messkit/mess"
)

// OpenQuestion is a question of the executor to the person at the terminal.
type OpenQuestion struct {
	key     string // of this question, in this thread
	Re      string // the message that asks
	Status  *mess.Status
	answers mess.Object // so far
}

// ask puts an open question to the person at the terminal. Without one it only
// says how to answer.
func (f *follower) ask() error {
	s, asked := output.LastStatus(f.thread.Messages)
	re := asked.Ref
	open := s != nil && s.Code == f.thread.Status && (s.Code == mess.NeedsInput || s.Code == mess.NeedsConfirmation)
	if !open || f.w.AsJSON {
		return f.unask()
	}
	q := &OpenQuestion{key: "asked " + re + " " + s.ID, Re: cmp.Or(re, f.ref), Status: s}
	if f.asking != nil && f.asking.key == q.key {
		return nil
	}
	if err := f.unask(); err != nil || f.seen[q.key] {
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

// unask takes a question back that is no longer open: somebody else has
// answered, or it has ended.
func (f *follower) unask() error {
	if f.asking == nil {
		return nil
	}
	f.asking = nil
	_, err := fmt.Fprintln(f.out)
	return err
}

// howToAnswer names the question that is to be confirmed, so that no other one
// is.
func (f *follower) howToAnswer(s *mess.Status, re string) error {
	ref := f.ref
	if s.Code == mess.NeedsConfirmation {
		ref = cmp.Or(re, f.ref)
	}
	_, err := fmt.Fprintf(f.out, "  answer with: %s\n", howToReply(ref, s))
	return err
}

// prompt asks for the next answer.
func (f *follower) prompt(in io.Reader) error {
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

// next is the first question without an answer; a confirmation has none.
func (q *OpenQuestion) next() (mess.Question, bool) {
	if n := len(q.answers); q.Status.Code == mess.NeedsInput && n < len(q.Status.Questions) {
		return q.Status.Questions[n], true
	}
	return mess.Question{}, false
}

// typed takes a line that was typed.
func (f *follower) typed(ctx context.Context, line typedLine) error {
	f.keys.taken()
	if errors.Is(line.err, io.EOF) && f.asking != nil { // nobody answers here
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
			return f.again("write an answer; Ctrl-D leaves the question to others")
		}
		if q.answers = append(q.answers, mess.Field{Key: open.Key(), Value: line.text}); len(q.answers) < len(q.Status.Questions) {
			return f.prompt(f.app.In)
		}
		r.Answers = q.answers
	} else {
		yes, ok := YesOrNo(line.text)
		if !ok {
			return f.again("write y or n")
		}
		r.Confirm = &yes
	}
	f.asking = nil
	_, err := f.x.Send(remote.Typed(ctx), mess.Message{Items: []mess.Item{r}})
	if errors.Is(err, mess.Forbidden) && r.Confirm != nil { // it is confirmed elsewhere, and waited for here
		ref, _, _ := strings.Cut(q.Re, "/")
		how := ""
		if h, ok := errors.AsType[*output.HintError](HintUnconfirmed(f.app, err, r, ref)); ok {
			how = fmt.Sprintf("  %s\n", h.Hint)
		}
		_, err = fmt.Fprintf(f.out, "  %s\n%s", output.Printable(err.Error()), how)
	}
	return err
}

// again asks once more, and says what is wanted.
func (f *follower) again(how string) error {
	if _, err := fmt.Fprintf(f.out, "  %s\n", how); err != nil {
		return err
	}
	return f.prompt(f.app.In)
}

// keyboard reads lines while other things happen. A read of a terminal cannot be
// taken back: at most one waits, until the program ends.
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

// taken says that a line has been read.
func (k *keyboard) taken() { k.busy = false }

// HintUnconfirmed adds what helps a person whose yes was refused.
func HintUnconfirmed(a *output.Env, err error, r *mess.Reply, ref string) error {
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
