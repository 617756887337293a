package mesh

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/channel/mesh"
	meshwire "github.com/messkit/messkit/exchange/channel/mesh/wire"
	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
)

// meshSending has the flags of mesh send and rally.
type meshSending struct {
	client.Client
	mesh.Sending
	wait, metadata, native, save string
	links, files                 []string
	asJSON, later                bool
}

func meshSendCommand(a *output.Env) *cobra.Command {
	var s meshSending
	c := &cobra.Command{
		Use:   "send PEER TYPE [TEXT]",
		Short: "Send a message to a peer, a @group, several (a,b) or all",
		Long: `Send sends a request, response, notification, alert or ack, and prints whether the peer
has received it. It tries four times within 80 seconds; after that the message becomes
a dead letter. With --wait it waits for the answer to a request, prints it and saves
its files. It fails if the peer reports that it has not done it.`,
		Example: `  messkit mesh send hub notification "The fridge is full"
  messkit mesh send hub request "How many tanks in zone 5?" --wait 120
  messkit mesh send hub response "the left one" --correlation-id msg_...`,
		Args: cobra.RangeArgs(2, 3),
		RunE: func(c *cobra.Command, args []string) error {
			s.To, s.Type = args[0], meshwire.Type(args[1])
			if len(args) == 3 {
				s.Body = args[2]
			}
			patience, err := s.read(c)
			if err != nil {
				return err
			}
			return s.Call(func(x *httpclient.Client) error { return meshSend(c.Context(), a, x, &s, patience) })
		},
	}
	s.Flags(c)
	f := c.Flags()
	f.StringVar(&s.wait, "wait", "", "wait so long for the answer: seconds, or 8m")
	f.StringVar(&s.Subject, "subject", "", "one line for logs; otherwise the beginning of the text")
	f.StringVar(&s.Priority, "priority", "", "high, normal or low")
	f.Int64Var(&s.TTL, "ttl", 0, "time to live in seconds (300, or as long as --wait)")
	f.StringVar(&s.Key, "idempotency-key", "", "messages with the same key are one")
	f.StringVar(&s.Correlation, "correlation-id", "", "of a response or ack: the message that it is for")
	f.StringVar(&s.Conversation, "conversation", "", "id of a conversation that it belongs to")
	f.StringVar(&s.SessionKey, "session-key", "", "session of this side that the answer is for")
	f.StringArrayVar(&s.links, "attachment", nil, "address of a file, or ADDRESS|TYPE|DESCRIPTION")
	f.StringArrayVar(&s.files, "file", nil, "file to attach, or FILE|DESCRIPTION")
	f.StringVar(&s.metadata, "metadata", "", "further fields, as JSON")
	f.StringVar(&s.native, "mess", "", "file with a MESS message to attach unchanged")
	f.BoolVar(&s.NoRetry, "no-retry", false, "try once")
	f.BoolVar(&s.Encrypt, "encrypt", false, "encrypt the text")
	f.StringVar(&s.save, "save", ".", "folder for the files of the answer")
	f.BoolVar(&s.later, "no-wait", false, "do not wait for the delivery")
	f.BoolVar(&s.asJSON, "json", false, "print JSON")
	return c
}

// read adds the files that the flags name to the message.
func (s *meshSending) read(c *cobra.Command) (time.Duration, error) {
	patience, err := parseTimeout(c, s.wait)
	switch {
	case err != nil:
		return 0, err
	case patience > 0 && s.Type != meshwire.Request:
		return 0, output.Usagef(c, "--wait: only a request has an answer")
	case s.metadata != "" && !json.Valid([]byte(s.metadata)):
		return 0, output.Usagef(c, "--metadata: is no JSON")
	}
	if s.metadata != "" {
		s.Metadata = json.RawMessage(s.metadata)
	}
	if s.TTL == 0 && patience > 300*time.Second {
		s.TTL = int64(patience / time.Second)
	}
	if s.native != "" {
		text, err := os.ReadFile(s.native)
		if err != nil {
			return 0, err
		}
		s.MESS = string(text)
	}
	for _, link := range s.links {
		parts := append(strings.SplitN(link, "|", 3), "", "")
		s.URLs = append(s.URLs, meshwire.Attachment{Type: "url", URL: parts[0], MIME: parts[1], Description: parts[2], Size: -1})
	}
	for _, file := range s.files {
		name, about, _ := strings.Cut(file, "|")
		data, err := os.ReadFile(name)
		if err != nil {
			return 0, err
		}
		kind := mime.TypeByExtension(filepath.Ext(name))
		if kind == "" {
			kind = http.DetectContentType(data)
		}
		s.Files = append(s.Files, mesh.Attached{Name: filepath.Base(name), MIME: kind, Data: data, About: about})
	}
	return patience, nil
}

// meshSend sends a message and prints the outcome.
func meshSend(ctx context.Context, a *output.Env, x *httpclient.Client, s *meshSending, patience time.Duration) error {
	r, err := do(ctx, x, mesh.Order{Do: "send", Send: &s.Sending})
	if err != nil {
		return err
	}
	var results []mesh.Asked
	var failed error
	for _, t := range r.Taken {
		var one mesh.Asked
		var err error
		switch {
		case patience > 0:
			one, err = meshAnswer(ctx, a, x, s, t, patience)
		case s.later:
			one = mesh.Asked{ID: t.ID, To: t.To}
			if !s.asJSON {
				_, err = fmt.Fprintf(a.Out, "%s to %s\n", t.ID, t.To)
			}
		default:
			one, err = meshDelivered(ctx, a, x, s, t)
		}
		if err != nil && !errors.Is(err, output.ErrQuiet) {
			return err
		}
		failed = errors.Join(failed, err)
		results = append(results, one)
	}
	if s.asJSON {
		if err := a.JSON(results); err != nil {
			return err
		}
	}
	if failed != nil {
		return output.ErrQuiet
	}
	return nil
}

// meshDelivered waits until the delivery of a message succeeds or fails.
func meshDelivered(ctx context.Context, a *output.Env, x *httpclient.Client, s *meshSending, t mesh.Taken) (mesh.Asked, error) {
	for {
		r, err := do(ctx, x, mesh.Order{Do: "delivered", ID: t.ID, Peer: t.To})
		if err != nil {
			return mesh.Asked{}, err
		}
		one := *r.Asked
		if one.Delivery == "" {
			continue
		}
		if s.asJSON {
			if one.Lost() {
				return one, output.ErrQuiet
			}
			return one, nil
		}
		if one.Lost() {
			_, err = fmt.Fprintf(a.Out, "%s to %s: not delivered: %s: %s\n", t.ID, t.To, output.Printable(one.Delivery), output.Printable(one.DeliveryErr))
			return one, errors.Join(err, output.ErrQuiet)
		}
		_, err = fmt.Fprintf(a.Out, "%s to %s: %s\n", t.ID, t.To, strings.ReplaceAll(output.Printable(one.Delivery), "_", " "))
		return one, err
	}
}

// meshAnswer waits for the response to a request, and prints acks and questions.
func meshAnswer(ctx context.Context, a *output.Env, x *httpclient.Client, s *meshSending, t mesh.Taken, patience time.Duration) (mesh.Asked, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var one mesh.Asked
	acked, asked := "", 0
	for {
		r, err := do(ctx, x, mesh.Order{Do: "await", ID: t.ID, Seen: asked})
		if ctx.Err() != nil {
			fmt.Fprintf(a.Err, "%s: no answer from %s within %v; messkit mesh status shows it when it comes\n", t.ID, t.To, patience)
			return one, output.ErrQuiet
		}
		if err != nil {
			return one, err
		}
		one = *r.Asked
		if one.Acked != acked && !s.asJSON {
			acked = one.Acked
			fmt.Fprintf(a.Err, "%s: %s\n", t.To, output.PrintableLines(acked))
		}
		for ; asked < len(one.Questions); asked++ {
			q := one.Questions[asked]
			fmt.Fprintf(a.Err, "%s asks: %s\nmesskit mesh send %s response \"...\" --correlation-id %s\n", t.To, output.PrintableLines(q.Text), t.To, output.Printable(q.ID))
		}
		switch {
		case one.Result != nil:
			return one, meshResult(ctx, a, x, s, &one)
		case one.Failed != "":
			fmt.Fprintf(a.Err, "%s: %s\n", t.To, output.Printable(one.Failed))
			return one, output.ErrQuiet
		case one.Lost() && one.Delivery != "":
			fmt.Fprintf(a.Err, "%s: not delivered: %s: %s\n", t.To, output.Printable(one.Delivery), output.Printable(one.DeliveryErr))
			return one, output.ErrQuiet
		}
	}
}

// meshResult prints a response and saves its files. It returns an error if the terminal status is
// not completed.
func meshResult(ctx context.Context, a *output.Env, x *httpclient.Client, s *meshSending, one *mesh.Asked) error {
	r := one.Result
	if !s.asJSON {
		if _, err := fmt.Fprintln(a.Out, output.PrintableLines(r.Body)); err != nil {
			return err
		}
	}
	if len(r.Files) > 0 {
		if err := os.MkdirAll(s.save, 0o755); err != nil {
			return err
		}
	}
	for _, name := range r.Files {
		got, err := do(context.WithoutCancel(ctx), x, mesh.Order{Do: "file", ID: one.ID, Name: name})
		if err != nil {
			return err
		}
		to := filepath.Join(s.save, filepath.Base(name))
		if _, err := client.WriteFile(to, bytes.NewReader(got.Data)); err != nil {
			return err
		}
		if !s.asJSON {
			about := ""
			if text := r.Descriptions[name]; text != "" {
				about = ": " + output.Printable(text)
			}
			fmt.Fprintf(a.Out, "saved %s (%d bytes)%s\n", output.Printable(to), len(got.Data), about)
		}
	}
	for _, note := range r.Notes {
		fmt.Fprintf(a.Err, "not there: %s\n", output.Printable(note))
	}
	if code := mess.Code(r.Status); code.Terminal() && code != mess.Completed {
		return output.ErrQuiet
	}
	return nil
}
