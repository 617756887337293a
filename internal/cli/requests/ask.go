// Package requests has the commands that make and follow requests: ask, reply, cancel,
// ls, show, watch and plan.
package requests

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
)

// asking are the flags of `messkit ask`.
type asking struct {
	client.Client
	wait     client.FollowOptions
	asJSON   bool
	requires []string
	context  []string
	hints    []string
	confirm  bool
	neededBy string
	after    string
	priority string
	id       string
}

// AskCommand returns the command messkit ask.
func AskCommand(a *output.Env) *cobra.Command {
	var k asking
	c := &cobra.Command{
		Use:   `ask "REQUEST"`,
		Short: "Ask for something in plain words",
		Long: `Ask sends a request to the exchange. With --wait it shows the progress until the end,
asks you the questions of the executor, and saves images to files; some terminals
display them. Without a terminal it waits until a person answers with messkit reply.

Exit code: 0 done (or accepted, without --wait), 1 not done, 2 wrong command line.`,
		Example: `  messkit ask "what's in the fridge?" --wait
  messkit ask "turn on the porch light" --requires switch-on --confirm --wait`,
		RunE: func(c *cobra.Command, args []string) error {
			return k.Unreachable(runAsk(a, c, &k, strings.Join(args, " ")))
		},
	}
	k.Flags(c)
	k.wait.Flags(c)
	f := c.Flags()
	f.BoolVar(&k.asJSON, "json", false, "print JSON: the ref and its state, or with --wait the whole thread")
	f.StringSliceVar(&k.requires, "requires", nil, "capabilities that the executor must have")
	f.StringArrayVar(&k.context, "context", nil, "a hint for the executor; repeatable")
	f.StringSliceVar(&k.hints, "hint", nil, "kind of answer: text, image, ...")
	f.BoolVar(&k.confirm, "confirm", false, "ask for a confirmation before the action")
	f.StringVar(&k.neededBy, "needed-by", "", "when it expires: a time, or from now (10m)")
	f.StringVar(&k.after, "not-before", "", "when it may begin: a time, or from now (10m)")
	f.StringVar(&k.priority, "priority", "", "background, normal, elevated or urgent")
	f.StringVar(&k.id, "id", "", "your own name for the request; the same id again is the same request")
	return c
}

func runAsk(a *output.Env, c *cobra.Command, k *asking, intent string) error {
	m := mess.Message{Version: "1.1.0", Items: []mess.Item{k.request(intent)}}
	if err := k.check(c, intent, m); err != nil {
		return err
	}
	if err := k.wait.Folder(c); err != nil {
		return err
	}
	x, err := k.Open()
	if err != nil {
		return err
	}
	answer, err := x.Send(c.Context(), m)
	if err != nil {
		return err
	}
	ref, note := acked(answer)
	if ref == "" {
		return errors.New("the exchange did not acknowledge the request; messkit ls lists its threads")
	}
	if k.wait.Wait {
		k.wait.AsJSON = k.asJSON
		if note != "" && !k.asJSON {
			if _, err := fmt.Fprintf(a.Out, "  %s  %s\n", ref, output.Printable(note)); err != nil {
				return err
			}
		}
		return client.Follow(c.Context(), a, x, ref, &k.wait)
	}
	if k.asJSON {
		result := map[string]string{"ref": ref}
		if note != "" {
			result["note"] = note
		}
		return a.JSON(result)
	}
	if note != "" { // on standard error, not in the JSON
		if _, err := fmt.Fprintln(a.Err, output.Printable(note)); err != nil {
			return err
		}
	}
	if _, err = fmt.Fprintln(a.Out, ref); err != nil {
		return err
	}
	return printTaken(a, ref)
}

// printTaken prints at a terminal how to follow a request.
func printTaken(a *output.Env, ref string) error {
	if a.Screen == nil {
		return nil
	}
	_, err := fmt.Fprintf(a.Err, "messkit show %s shows its state; messkit ask --wait waits for the end\n", ref)
	return err
}

// check returns the errors of the command line before it contacts the exchange.
func (k *asking) check(c *cobra.Command, intent string, m mess.Message) error {
	if strings.TrimSpace(intent) == "" {
		return output.Usagef(c, "the request is empty; write it in words")
	}
	for _, f := range [][2]string{{"--needed-by", k.neededBy}, {"--not-before", k.after}} {
		flag, value := f[0], f[1]
		_, noTime := mess.Time(value).Time()
		if _, noDuration := mess.Duration(value).Duration(); value != "" && noTime != nil && noDuration != nil {
			return output.Usagef(c, "%s: %q is not a time; write it like 2026-02-08T23:00:00-08:00, or 10m for from now", flag, value)
		}
	}
	if err := m.Validate(); err != nil {
		return output.Usagef(c, "%s", flagNames.Replace(err.Error()))
	}
	return nil
}

// flagNames replaces the names of message fields by those of the flags.
var flagNames = strings.NewReplacer(
	"[0].request.priority", "--priority", "[0].request.id", "--id", "[0].request.requires", "--requires", "[0].request.context", "--context",
	"[0].request.response_hint", "--hint", "[0].request.needed_by", "--needed-by", "[0].request.constraints.timing.expires", "--needed-by",
	"[0].request.constraints.timing.not_before", "--not-before", "[0].request.", "", "[0].request", "request",
)

func (k *asking) request(intent string) *mess.Request {
	r := &mess.Request{
		ID: k.id, Intent: intent, Priority: mess.Priority(k.priority), NeededBy: mess.Time(k.neededBy),
	}
	for _, id := range k.requires {
		r.Requires = append(r.Requires, mess.Capability{ID: id})
	}
	for _, text := range k.context {
		r.Context = append(r.Context, mess.TextEntry(text))
	}
	for _, kind := range k.hints {
		r.ResponseHint = append(r.ResponseHint, mess.ResponseHint{Type: kind})
	}
	if k.confirm {
		r.ConfirmBefore = &k.confirm
	}
	var t mess.Timing
	if d := mess.Duration(k.neededBy); d != "" {
		if _, err := d.Duration(); err == nil { // a duration from now, by the exchange's clock
			r.NeededBy, t.Expires = "", mess.TimeOrDuration(d)
		}
	}
	if t.NotBefore = mess.Time(k.after); k.after != "" {
		if d, err := mess.Duration(k.after).Duration(); err == nil {
			t.NotBefore = mess.TimeOf(time.Now().Add(d))
		}
	}
	if t.Expires != "" || t.NotBefore != "" {
		r.Constraints = &mess.Constraints{Timing: &t}
	}
	return r
}

// acked returns the ref in an acknowledgement, and the exchange's note.
func acked(m mess.Message) (ref, note string) {
	for _, item := range m.Items {
		if ack, ok := item.(*mess.Ack); ok && ack.Ref != "" {
			return ack.Ref, ack.Extra.Text("note")
		}
	}
	return "", ""
}
