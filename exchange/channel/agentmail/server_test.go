package agentmail_test

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/messkit/messkit/exchange/channel/agentmail"
	"github.com/messkit/messkit/exchange/channel/agentmail/format"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailbox"
	"github.com/messkit/messkit/exchange/channel/agentmail/mailboxtest"
	"github.com/messkit/messkit/internal/secret"
	"github.com/messkit/messkit/mess"
)

// Two programs that know nothing of each other assign and do a task through the server.
// MESSKIT_AGENTMAIL_SERVER names a running server, and MESSKIT_AGENTMAIL_TOKEN its bearer token
// (make agentmail); otherwise the test starts its own.
func TestTaskThroughServer(t *testing.T) {
	address, token := os.Getenv("MESSKIT_AGENTMAIL_SERVER"), os.Getenv("MESSKIT_AGENTMAIL_TOKEN")
	if address == "" {
		t.Log("by way of the server of the tests; MESSKIT_AGENTMAIL_SERVER names another one")
		mail := mailboxtest.New("let-me-in")
		t.Cleanup(mail.Close)
		address, token = mail.URL, "let-me-in"
	}
	run := time.Now().UTC().Format("20060102-150405") // names of another run belong to other tokens
	here, there := "Kitchen-"+run, "Orchestrator-"+run
	at := mailbox.Config{URL: address, Bearer: secret.Text(token), Project: "/tmp/messkit-" + run, Timeout: time.Minute}

	gives := at
	gives.Name = there
	orchestrator := mailbox.New(gives)
	t.Cleanup(orchestrator.Close)
	if who, err := orchestrator.Enter(t.Context(), mailbox.Identity{}); err != nil || who.Name != there {
		t.Fatalf("%s is %q there, %v", there, who.Name, err)
	}
	h := bare(t, nil, here, agentmail.Config{Senders: []string{there}})
	h.at = at
	h.lived()
	h.again("the adapter is registered", func() bool { return orchestrator.Admit(h.ctx, here) == nil })

	h.again("the adapter has admitted it", func() bool { // until then the server rejects mail to it
		_, err := orchestrator.Send(h.ctx, mailbox.OutgoingMail{
			To: here, Subject: "[task_assignment] bd-1", Body: strings.Replace(assignment("msg-1", "bd-1", "photo"), boss, there, 1), Thread: "bd-1", Importance: "normal", Ack: true,
		})
		if err != nil && !strings.Contains(err.Error(), "Contact approval required") {
			t.Fatal(err)
		}
		return err == nil
	})
	var end *format.TaskCompletion
	h.again("the task is completed", func() bool {
		mails, err := orchestrator.Fetch(h.ctx, time.Time{})
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mails {
			msg, err := format.Parse(m.Body, format.Mail{From: m.From, Subject: m.Subject}, format.Strict)
			if err != nil || m.From != here || m.Thread != "bd-1" {
				t.Fatalf("from %s in %s: %s: %v", m.From, m.Thread, m.Body, err)
			}
			if c, ok := msg.Body.(*format.TaskCompletion); ok {
				end = c
			}
		}
		return end != nil
	})
	if end.TaskID != "bd-1" || end.Status != "complete" {
		t.Errorf("%+v", end)
	}
	items, _, err := format.Carried(end)
	if err != nil || len(items) != 2 {
		t.Fatalf("%v, %v", items, err)
	}
	media, _ := items[1].(*mess.Response).Content[1].Media()
	if _, data, _ := mess.ParseDataURI(media.URI); !bytes.Equal(data, picture()) {
		t.Errorf("the picture has %d bytes", len(data))
	}
}

// again polls until a condition is true.
func (h *fixture) again(what string, is func() bool) {
	h.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for !is() {
		select {
		case <-tick.C:
		case <-h.ctx.Done():
			h.Fatalf("%s: not in time; the adapter: %+v", what, h.adapter.Status())
		}
	}
}
