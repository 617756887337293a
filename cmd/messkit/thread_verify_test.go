package main

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"golang.org/x/sync/errgroup"
	"gopkg.in/yaml.v3"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/store/files"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/cli/thread"
	"github.com/messkit/messkit/mess"
	"github.com/messkit/messkit/mess/messeaf"
	"github.com/messkit/messkit/mess/receipt"
)

const plan = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

// signedThread returns the folder of a thread with an image that a real exchange has written, and
// the public key of its receipt.
func signedThread(t *testing.T) (folder fstest.MapFS, ref, key string) {
	t.Helper()
	dir := t.TempDir()
	store, err := files.DefaultConfig().Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	x, err := exchange.Open(t.Context(), exchange.DefaultConfig(), store, time.Now, output.NoLog)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var g errgroup.Group
	g.Go(func() error { return x.Run(ctx) })
	g.Go(func() error { return store.Run(ctx, x) })
	s, err := receipt.NewSigner([]byte(strings.Repeat("porch-pi", 4)))
	if err != nil {
		t.Fatal(err)
	}
	ref = postThread(t, x, s)
	place := filepath.Join(dir, "state=finished", ref)
	for tick, end := time.NewTicker(10*time.Millisecond), time.Now().Add(patience); ; <-tick.C {
		if all, _ := filepath.Glob(filepath.Join(place, "att-*")); len(all) == 1 {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", place, patience)
		}
	}
	cancel()
	if err := errors.Join(g.Wait(), store.Close()); err != nil {
		t.Fatal(err)
	}
	folder = fstest.MapFS{}
	err = fs.WalkDir(os.DirFS(place), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(place, name))
		folder[path.Join(ref, name)] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return folder, ref, s.Public()
}

// postThread posts the messages of a thread with a confirmation, a start and a result with an image.
func postThread(t *testing.T, x *exchange.Exchange, s *receipt.Signer) (ref string) {
	t.Helper()
	asker := exchange.Actor{ID: "claude-agent", Roles: exchange.Requester}
	pi := exchange.Actor{ID: "porch-pi", Roles: exchange.ExecutorRole}
	post := func(actor exchange.Actor, m mess.Message) *mess.Ack {
		t.Helper()
		answer, err := x.Post(t.Context(), exchange.Inbound{Actor: actor, Channel: "test", Message: m})
		if err != nil {
			t.Fatal(err)
		}
		return answer.Items[0].(*mess.Ack)
	}
	status := func(st mess.Status) {
		t.Helper()
		post(pi, mess.Message{Re: mess.Refs{ref}, Epoch: 1, Items: []mess.Item{&st}})
	}
	post(pi, mess.Message{Items: []mess.Item{&mess.Config{Executor: &mess.Executor{ID: pi.ID, Versions: []string{"1.1.0"}}}}})
	ref = post(asker, mess.Message{Items: []mess.Item{&mess.Request{Intent: "turn on the porch light and show me"}}}).Ref
	status(mess.Status{Code: mess.Claimed})
	status(mess.Status{Code: mess.NeedsConfirmation, Action: "turn it on", ActionHash: plan})
	post(asker, mess.Message{Re: mess.Refs{ref}, Items: []mess.Item{&mess.Reply{Confirm: new(true), ActionHash: plan}}})
	status(mess.Status{Code: mess.InProgress, ActionHash: plan})
	picture, err := x.Attach(t.Context(), pi, ref, "porch.jpg", "image/jpeg", strings.NewReader("a picture of a porch"))
	if err != nil {
		t.Fatal(err)
	}
	picture.CapturedAt = "2026-11-21T09:44:59.9Z"
	m, err := s.Sign(mess.Message{Re: mess.Refs{ref}, Epoch: 1, ID: "last", Items: []mess.Item{
		&mess.Status{Code: mess.Completed, Evidence: mess.Photographed},
		&mess.Response{Executor: pi.ID, CompletedAt: "2026-11-21T09:45:00.002Z", Notes: "off again in 10m: \"yes\"", Content: []mess.Entry{
			mess.TextEntry("The porch light is on.\nIt has 4.50 W, - # and 'quotes'."),
			mess.MediaEntry("image", picture),
			mess.ObjectEntry("structured", mess.Object{{Key: "on", Value: true}, {Key: "watts", Value: mess.Number("4.50")}, {Key: "none", Value: nil}}),
		}},
	}}, receipt.Facts{
		Thread: ref, Epoch: 1, Executor: pi.ID, Plan: plan, Capability: "switch-on", Started: "2026-11-21T09:44:59.5Z", Ended: "2026-11-21T09:45:00.001Z",
	})
	if err != nil {
		t.Fatal(err)
	}
	post(pi, m)
	return ref
}

// verifyThread returns the output of messkit thread verify for a folder, and whether the thread is
// valid.
func verifyThread(t *testing.T, folder fs.FS, ref, key string) (string, bool) {
	t.Helper()
	var out bytes.Buffer
	a := &output.Env{Out: &out}
	wrong, err := thread.VerifyThread(a, thread.OnDisk{Place: messeaf.Place{Ref: ref, Path: ref}, Fsys: folder, In: ""}, func(string) (string, string) { return key, "test" })
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), !wrong
}

func TestVerifyFindsChanges(t *testing.T) {
	folder, ref, key := signedThread(t)
	const other = "WlEPvHr0d5GdGvNtXYiJr+vFU36NHWB4kO1OjllmWdI="
	in := func(was, is string) func(fstest.MapFS) {
		return func(f fstest.MapFS) {
			for name, file := range f {
				if strings.HasSuffix(name, messeaf.Ext) {
					data := strings.ReplaceAll(string(file.Data), was, is)
					if data == string(file.Data) {
						t.Errorf("%q is not in the thread", was)
					}
					f[name] = &fstest.MapFile{Data: []byte(data)}
				}
			}
		}
	}
	for _, c := range []struct {
		name   string
		change func(fstest.MapFS)
		key    string
		want   string // part of the output
		well   bool
	}{
		{name: "as it was written", want: "completed by porch-pi, evidence photographed, at 2026-11-21T09:45:00.001Z; 3 pieces of content, 1 files; signed with " + key, well: true},
		{name: "no source confirms the key", key: "none", want: "key: no source confirms " + key},
		{name: "another key", key: other, want: "key: is " + key + ", but test reports " + other},
		{name: "the words", change: in("The porch light is on", "The porch light is off"), want: "content[0]: differs from the signed content"},
		{name: "the notes", change: in("off again in 10m", "off again in 20m"), want: "report: differs from the signed text"},
		{name: "the evidence", change: in("photographed", "read_back"), want: "signature: is not that of its key"},
		{name: "the time of capture", change: in("09:44:59.9Z", "09:44:59.8Z"), want: "content[1]: differs from the signed content"},
		{name: "text without a signature", change: in("action: turn it on", "action: turn it off"), want: "completed by", well: true},
		{name: "another plan was confirmed", change: func(f fstest.MapFS) {
			replaceInStatus(t, f, ref, "needs_confirmation", plan, strings.Replace(plan, "0", "f", 1))
		}, want: ", the receipt for " + plan},
		{name: "the executor started another plan", change: func(f fstest.MapFS) {
			replaceInStatus(t, f, ref, "in_progress", plan, strings.Replace(plan, "0", "f", 1))
		}, want: ", but the receipt is for " + plan},
		{name: "the answer was no", change: in("confirm: true", "confirm: false"), want: "required a confirmation, and has none"},
		{name: "another thread", change: func(f fstest.MapFS) {
			name := path.Join(ref, messeaf.FileName(0, ref))
			f[name] = &fstest.MapFile{Data: bytes.Replace(f[name].Data, []byte(ref), []byte("2020-01-01-001"), 1)}
		}, want: "thread: the receipt is for"},
		{name: "another executor", change: in("from: porch-pi", "from: attic-pi"), want: `executor: the message says "attic-pi", the receipt "porch-pi"`},
		{name: "no receipt", change: in("receipt:", "recipe:"), want: "there is no receipt in it"},
		{name: "the file is gone", change: func(f fstest.MapFS) {
			maps.DeleteFunc(f, func(n string, _ *fstest.MapFile) bool { return strings.Contains(n, "att-") })
		}, want: "file does not exist"},
		{name: "the file is another", change: func(f fstest.MapFS) {
			for name := range f {
				if strings.Contains(name, "att-") {
					f[name] = &fstest.MapFile{Data: []byte("another")}
				}
			}
		}, want: "the file differs from the signed one"},
		{name: "the last word is gone", change: func(f fstest.MapFS) {
			for name, file := range f {
				if i := bytes.Index(file.Data, []byte("receipt:")); i > 0 {
					f[name] = &fstest.MapFile{Data: file.Data[:bytes.LastIndex(file.Data[:i], []byte("\n---"))+1]}
				}
			}
		}, want: "has the status completed without a valid receipt of porch-pi for it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := maps.Clone(folder)
			if c.change != nil {
				c.change(f)
			}
			by := map[string]string{"": key, "none": "", other: other}[c.key]
			got, well := verifyThread(t, f, ref, by)
			if well != c.well || !strings.Contains(got, c.want) {
				t.Errorf("well %v, want %v and %q:\n%s", well, c.well, c.want, got)
			}
		})
	}
}

// replaceInStatus replaces text in the first document of a thread with that status code.
func replaceInStatus(t *testing.T, f fstest.MapFS, ref, word, was, is string) {
	t.Helper()
	for name, file := range f {
		docs := strings.Split(string(file.Data), "\n---\n")
		i := slices.IndexFunc(docs, func(d string) bool { return strings.Contains(d, "code: "+word) && strings.Contains(d, was) })
		if i < 0 {
			continue
		}
		docs[i] = strings.ReplaceAll(docs[i], was, is)
		f[name] = &fstest.MapFile{Data: []byte(strings.Join(docs, "\n---\n"))}
		return
	}
	t.Errorf("%s: %s is not in it", ref, word)
}

// The test flips bits of the last message and of its image: one bit of every fourth byte, or with
// MESSKIT_FLIPS=all every bit of every byte. The verification fails, or another YAML reader finds
// an identical status and response.
func TestVerifyFindsFlippedBits(t *testing.T) {
	folder, ref, key := signedThread(t)
	bits, stride := 1, 4
	if os.Getenv("MESSKIT_FLIPS") == "all" {
		bits, stride = 8, 1
	}
	flips, outside := 0, 0
	for name, file := range folder {
		from, to := 0, len(file.Data)
		if !strings.Contains(name, "att-") {
			at := bytes.Index(file.Data, []byte("receipt:"))
			if at < 0 {
				continue
			}
			from = bytes.LastIndex(file.Data[:at], []byte("\n---"))
			if next := bytes.Index(file.Data[at:], []byte("\n---")); next >= 0 {
				to = at + next
			}
		}
		was := lastStatusAndResponse(file.Data)
		for i := from; i < to; i += stride {
			for b := range bits {
				data := bytes.Clone(file.Data)
				data[i] ^= 1 << ((i/stride + b) % 8)
				f := maps.Clone(folder)
				f[name] = &fstest.MapFile{Data: data}
				flips++
				text, well := verifyThread(t, f, ref, key)
				if !well {
					continue
				}
				outside++
				if is := lastStatusAndResponse(data); strings.Contains(name, "att-") || !reflect.DeepEqual(was, is) {
					t.Errorf("%s: byte %d ^ %#x is missed: %q\n%s", name, i, 1<<((i/stride+b)%8), data[max(0, i-30):min(len(data), i+30)], text)
				}
			}
		}
	}
	if flips < 300 || outside == 0 || outside > flips/4 {
		t.Errorf("of %d flips %d are outside of what is signed", flips, outside)
	}
}

// lastStatusAndResponse returns the last status and response of a thread as another YAML reader sees them, nil
// without any.
func lastStatusAndResponse(data []byte) (items []any) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc struct {
			From string           `yaml:"from"`
			MESS []map[string]any `yaml:"MESS"`
		}
		if err := d.Decode(&doc); err != nil {
			return items
		}
		for _, item := range doc.MESS {
			if s, ok := item["status"].(map[string]any); ok && s["receipt"] != nil {
				items = append(items, doc.From, s)
			}
			if r, ok := item["response"].(map[string]any); ok {
				items = append(items, r)
			}
		}
	}
}
