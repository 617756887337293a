package agentmail_test

import (
	"context"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/agentmail"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailbox"
	"github.com/messkit/messkit/exchange/store/memory"
)

// quietBox is a mailbox at a server with one mail.
type quietBox struct {
	mail mailbox.Mail

	mu    sync.Mutex
	times []time.Time
	sent  []mailbox.OutgoingMail
}

func (b *quietBox) Enter(context.Context, mailbox.Identity) (mailbox.Identity, error) {
	return mailbox.Identity{Name: "Kitchen-1", Token: "sesame"}, nil
}

func (b *quietBox) Fetch(context.Context, time.Time) ([]mailbox.Mail, error) {
	return []mailbox.Mail{b.mail}, nil
}

func (b *quietBox) Send(ctx context.Context, l mailbox.OutgoingMail) (time.Time, error) {
	if err := ctx.Err(); err != nil {
		return time.Time{}, err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.times, b.sent = append(b.times, time.Now()), append(b.sent, l)
	return time.Now(), nil
}

func (b *quietBox) Sent(ctx context.Context, _ string, _ time.Time) (bool, error) {
	return false, ctx.Err()
}

func (b *quietBox) Acknowledge(context.Context, int64) error { return nil }
func (b *quietBox) Ask(context.Context, string) error        { return nil }
func (b *quietBox) Admit(context.Context, string) error      { return nil }
func (b *quietBox) Close()                                   {}

// byMail runs a second adapter, at a mailbox with one task.
func (h *fixture) byMail(intent string) *quietBox {
	h.Helper()
	box := &quietBox{mail: mailbox.Mail{ID: 1, From: boss, Thread: "bd-2", Created: time.Now(), Body: assignment("msg-2", "bd-2", intent)}}
	cfg := bossOnly
	cfg.Name, cfg.Project, cfg.Server, cfg.Poll, cfg.MaxZone = "Kitchen-1", project, "http://192.0.2.1/mcp/", 5*time.Second, time.Hour
	d, err := agentmail.Open(h.ctx, h.x, cfg, box, h.TempDir(), time.Now, slog.New(slog.DiscardHandler))
	if err != nil {
		h.Fatal(err)
	}
	h.run(func(ctx context.Context) { _ = d.Run(ctx) })
	return box
}

// slowStore takes 40 s to open a file.
type slowStore struct{ *memory.Store }

func (s slowStore) Blob(ctx context.Context, sum string) (io.ReadSeekCloser, error) {
	time.Sleep(40 * time.Second) // fake time
	return s.Store.Blob(ctx, sum)
}

// TestSlowMachineSendsImages covers a machine that needs more time for the images of a mail
// than a call of the mail server may take.
func TestSlowMachineSendsImages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := bareOn(t, slowStore{memory.New()}, nil, "", agentmail.Config{On: true}).lived()
		h.ctx = context.Background() // the test takes longer
		box := h.byMail("photo")
		time.Sleep(10 * time.Minute) // fake time
		box.mu.Lock()
		defer box.mu.Unlock()
		if !slices.ContainsFunc(box.sent, func(l mailbox.OutgoingMail) bool {
			return strings.HasPrefix(l.Subject, "[task_completion]") && strings.Contains(l.Body, "data:image/jpeg;base64,")
		}) {
			t.Errorf("the completion was not sent: %d mails", len(box.sent))
		}
	})
}

var _ exchange.Store = slowStore{}
