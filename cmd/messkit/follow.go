package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/mess"
)

// waiting is how the end of a thread is waited for.
type waiting struct {
	saveDir string
	said    bool // what has been said so far is not shown
	asJSON  bool
}

func (w *waiting) flags(c *cobra.Command) {
	c.Flags().StringVar(&w.saveDir, "save", ".", "folder for pictures and files")
}

// errEnded ends the following of events: the thread has ended.
var errEnded = errors.New("ended")

// follow shows what is said in a thread until its end, asks the person at the
// terminal what the executor asks, and saves what it sends. It fails if the
// task was not done.
func (a *app) follow(ctx context.Context, x *remote.Client, ref string, w *waiting) error {
	f := &follower{app: a, x: x, ref: ref, w: w, seen: map[string]bool{}}
	if w.said {
		if err := f.skip(ctx); err != nil {
			return err
		}
	}
	if err := f.look(ctx); err != nil {
		return f.end(ctx, err)
	}
	err := x.Follow(ctx, "", func(e remote.Event) error {
		if e.Thread.Ref != "" && e.Thread.Ref != ref {
			return nil
		}
		return f.look(ctx) // what was missed is in the thread as well
	})
	return f.end(ctx, err)
}

type follower struct {
	app    *app
	x      *remote.Client
	ref    string
	w      *waiting
	seen   map[string]bool // refs of messages
	thread remote.Thread
}

// skip takes what has been said for known.
func (f *follower) skip(ctx context.Context) error {
	t, err := f.x.Thread(ctx, f.ref)
	for i, m := range t.Messages {
		f.seen[messageKey(i, m)] = true
	}
	return err
}

func messageKey(i int, m mess.Message) string {
	if m.Ref != "" {
		return m.Ref
	}
	return fmt.Sprint(i) // acks have no ref; a thread only grows
}

// look shows what is new. Its error is errEnded when the thread has ended.
func (f *follower) look(ctx context.Context) error {
	t, err := f.x.Thread(ctx, f.ref)
	if err != nil {
		return err
	}
	f.thread = t
	for i, m := range t.Messages {
		key := messageKey(i, m)
		if f.seen[key] {
			continue
		}
		f.seen[key] = true
		if err := f.show(ctx, m); err != nil {
			return err
		}
	}
	if t.Status.Terminal() {
		return errEnded
	}
	return f.ask(ctx)
}

func (f *follower) show(ctx context.Context, m mess.Message) error {
	if f.w.asJSON {
		return f.save(ctx, m)
	}
	p := printer{out: f.app.out}
	p.message(m)
	if p.err != nil {
		return p.err
	}
	return f.save(ctx, m)
}

// save writes the attachments of a response to files.
func (f *follower) save(ctx context.Context, m mess.Message) error {
	for _, item := range m.Items {
		r, ok := item.(*mess.Response)
		if !ok {
			continue
		}
		for _, e := range r.Content {
			if media, ok := e.Media(); ok {
				if err := f.saveMedia(ctx, media); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// saveMedia writes one attachment to a file of its own, and says its name.
func (f *follower) saveMedia(ctx context.Context, media mess.Media) error {
	data, name, err := mediaBytes(ctx, f.x, f.ref, media)
	if err != nil || data == nil {
		return err
	}
	defer data.Close()
	name = filepath.Join(f.w.saveDir, strings.ReplaceAll(f.ref, "/", "-")+"-"+name)
	n, err := writeFile(name, data)
	if err != nil {
		return hint(err, "choose another folder with --save; the file stays with the exchange: messkit show %s --save FOLDER", f.ref)
	}
	out := f.app.out
	if f.w.asJSON {
		out = f.app.err // what scripts read is JSON alone
	}
	_, err = fmt.Fprintf(out, "saved %s (%d KB)\n", name, (n+1023)>>10)
	return err
}

// mediaBytes opens what a content entry names: an attachment, or a data URI.
func mediaBytes(ctx context.Context, x *remote.Client, ref string, media mess.Media) (io.ReadCloser, string, error) {
	if media.File != "" {
		data, _, err := x.Attachment(ctx, ref, media.File)
		return data, strings.TrimPrefix(filepath.Base(media.File), "att-"), err
	}
	if mime, data, ok := mess.ParseDataURI(media.URI); ok {
		name := "content" + extension(mime)
		if media.Name != "" {
			name = filepath.Base(media.Name)
		}
		return io.NopCloser(strings.NewReader(string(data))), name, nil
	}
	return nil, "", nil
}

func extension(mime string) string {
	if _, sub, ok := strings.Cut(mime, "/"); ok && !strings.ContainsAny(sub, "./\\+;") {
		return "." + strings.Replace(sub, "jpeg", "jpg", 1)
	}
	return ".bin"
}

// writeFile writes a file whole or not at all.
func writeFile(name string, data io.Reader) (int64, error) {
	f, err := os.CreateTemp(filepath.Dir(name), ".messkit-*")
	if err != nil {
		return 0, err
	}
	defer os.Remove(f.Name()) // is gone where all went well
	n, err := io.Copy(f, data)
	if err := errors.Join(err, f.Chmod(0o644), f.Close()); err != nil {
		return 0, err
	}
	return n, os.Rename(f.Name(), name)
}

// ask puts an open question to the person at the terminal. Without one it only
// says how to answer.
func (f *follower) ask(ctx context.Context) error {
	s, asked := lastStatus(f.thread.Messages)
	if s == nil || s.Code != f.thread.Status || f.w.asJSON {
		return nil
	}
	key := "asked " + s.ID + fmt.Sprint(len(f.thread.Messages))
	if f.seen[key] || s.Code != mess.NeedsInput && s.Code != mess.NeedsConfirmation {
		return nil
	}
	f.seen[key] = true
	in, ok := f.app.in.(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return f.howToAnswer(s, asked)
	}
	return f.answer(ctx, s, asked, bufio.NewReader(in))
}

// howToAnswer names the question that is to be confirmed, so that no other one
// is.
func (f *follower) howToAnswer(s *mess.Status, asked string) error {
	how := fmt.Sprintf("messkit reply %s ANSWER", f.ref)
	if s.Code == mess.NeedsConfirmation {
		how = fmt.Sprintf("messkit reply %s --yes   (or --no)", cmp.Or(asked, f.ref))
	}
	_, err := fmt.Fprintf(f.app.out, "  answer with: %s\n", how)
	return err
}

// answer reads answers from the terminal and sends them.
func (f *follower) answer(ctx context.Context, s *mess.Status, asked string, in *bufio.Reader) error {
	r := &mess.Reply{Re: mess.Refs{cmp.Or(asked, f.ref)}}
	if s.Code == mess.NeedsConfirmation {
		line, err := f.prompt(in, "  do it? [y/N] ")
		if err != nil {
			return err
		}
		yes := line == "y" || line == "yes"
		r.Confirm = &yes
	} else {
		for _, q := range s.Questions {
			line, err := f.prompt(in, "  "+q.Key()+"? ")
			if err != nil {
				return err
			}
			r.Answers = r.Answers.Set(q.Key(), line)
		}
	}
	_, err := f.x.Send(ctx, mess.Message{Items: []mess.Item{r}})
	return err
}

func (f *follower) prompt(in *bufio.Reader, text string) (string, error) {
	if _, err := fmt.Fprint(f.app.out, text); err != nil {
		return "", err
	}
	line, err := in.ReadString('\n')
	return strings.ToLower(strings.TrimSpace(line)), err
}

// end tells how it went, as the exit code.
func (f *follower) end(ctx context.Context, err error) error {
	if !errors.Is(err, errEnded) {
		if ctx.Err() != nil {
			return hint(fmt.Errorf("%s: it goes on without you", f.ref), "messkit show %s tells how it went, messkit cancel %s stops it", f.ref, f.ref)
		}
		return err
	}
	if f.w.asJSON {
		if err := f.app.json(threadJSON(f.thread)); err != nil {
			return err
		}
	}
	if f.thread.Status != mess.Completed {
		return errQuiet
	}
	return nil
}
