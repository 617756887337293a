package requests

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/internal/wait"
	"github.com/messkit/messkit/mess"
)

// askYes prints the plan to confirm, and reads the answer of the person at the terminal.
func askYes(a *output.Env, s *mess.Status) (*bool, error) {
	fmt.Fprintf(a.Out, "  %s\n", output.Printable(s.Action))
	if s.Consequences != "" {
		fmt.Fprintf(a.Out, "  %s\n", output.Printable(s.Consequences))
	}
	return client.ReadYes(a, "do it?")
}

// replying are the flags of `messkit reply`.
type replying struct {
	client.Client
	wait    client.FollowOptions
	yes, no bool
	accept  bool
	reject  bool
	code    string
	reason  string
}

// ReplyCommand returns the command messkit reply.
func ReplyCommand(a *output.Env) *cobra.Command {
	var k replying
	c := &cobra.Command{
		Use:   "reply REF [ANSWER]",
		Short: "Answer a question, or confirm or reject an action",
		Long: `Reply answers the question of an executor. At a terminal it shows the action to
confirm, and asks. --no rejects it from anywhere. --yes confirms an action that needs no
person. It confirms a plan with risk only if the exchange has confirm: script; else the
exchange rejects it. --code confirms one if the exchange has confirm: code
(docs/how-to/safety.md). A confirmation names its request: "last" is not allowed. If an
executor has asked more than one question, the answer names the question. --accept and
--reject answer a suggestion of an executor, such as to pass the request on. The
beginning of a ref is enough if no other ref begins so.`,
		Example: `  messkit reply 2026-11-21-003 both
  messkit reply 2026-11-21-003 area=both
  messkit reply 2026-11-21-003 --yes --wait
  messkit reply 2026-11-21-003/question-005 --yes
  messkit reply 2026-11-21-003 --accept`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := k.wait.Folder(c); err != nil {
				return err
			}
			return k.Unreachable(runReply(c.Context(), a, &k, args[0], args[1:]))
		},
	}
	k.Flags(c)
	k.wait.Flags(c)
	f := c.Flags()
	f.BoolVar(&k.yes, "yes", false, "confirm the action; a plan with risk only if the exchange has confirm: script")
	f.BoolVar(&k.no, "no", false, "reject the action")
	f.BoolVar(&k.accept, "accept", false, "accept the open suggestion")
	f.BoolVar(&k.reject, "reject", false, "reject the open suggestion")
	f.StringVar(&k.reason, "reason", "", "why")
	f.StringVar(&k.code, "code", "", "confirm the action with the code that the page shows, where the exchange has confirm: code")
	c.MarkFlagsMutuallyExclusive("yes", "no", "accept", "reject")
	c.MarkFlagsMutuallyExclusive("code", "no", "accept", "reject")
	return c
}

func runReply(ctx context.Context, a *output.Env, k *replying, ref string, answers []string) error {
	x, err := k.Open()
	if err != nil {
		return err
	}
	if ref, err = client.WholeRef(ctx, x, ref); err != nil {
		return err
	}
	r := &mess.Reply{Re: mess.Refs{ref}, Reason: k.reason, Code: k.code}
	var asked *client.OpenQuestion
	switch {
	case k.accept || k.reject:
		if len(answers) > 0 {
			return fmt.Errorf("%s: give an answer, or --accept or --reject, not both", ref)
		}
		r.Accept = &k.accept
	case k.yes || k.no || k.code != "":
		if len(answers) > 0 {
			return fmt.Errorf("%s: give an answer, or --yes or --no, not both", ref)
		}
		r.Confirm = new(!k.no)
	default:
		if asked, err = askedNow(ctx, x, ref); err != nil {
			return err
		}
		if asked.Status.Code == mess.NeedsConfirmation {
			if len(answers) == 0 && a.HasTerminal() {
				ctx = httpclient.Typed(ctx)
				r.Confirm, err = askYes(a, asked.Status)
			} else {
				r.Confirm, err = confirmation(ref, answers)
			}
			if ref != "last" && !strings.Contains(ref, "/") && asked.Re != "" {
				r.Re = mess.Refs{asked.Re} // binds the answer to this question, not to a later one
			}
		} else {
			r.Answers, err = answersTo(ref, asked.Status, answers)
		}
		if err != nil {
			return err
		}
	}
	if _, err := x.Send(ctx, mess.Message{Items: []mess.Item{r}}); err != nil {
		if ref == mess.Last && r.Confirm != nil && errors.Is(err, mess.Invalid) {
			return output.Hint(err, "name it: messkit reply REF; messkit show last prints its REF")
		}
		return client.HintUnconfirmed(err, r, ref)
	}
	ref, _, _ = strings.Cut(ref, "/") // the thread of the question
	if k.wait.Wait {
		k.wait.SkipPast = true
		return client.Follow(ctx, a, x, ref, &k.wait)
	}
	if err := notTaken(ctx, x, ref, r.Answers, asked); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "%s answered; messkit show %[1]s shows the result\n", ref)
	return err
}

// askedNow returns the present question of the thread.
func askedNow(ctx context.Context, x *httpclient.Client, ref string) (*client.OpenQuestion, error) {
	thread, _, _ := strings.Cut(ref, "/")
	t, err := x.Thread(ctx, thread)
	if err != nil {
		return nil, err
	}
	s, in := mess.LastStatus(t.Messages)
	if s == nil || s.Code != t.Status || s.Code != mess.NeedsConfirmation && s.Code != mess.NeedsInput {
		return nil, fmt.Errorf("%s: no question is open; it is %s", ref, output.WithSpaces(t.Status))
	}
	return &client.OpenQuestion{Re: in.Ref, Status: s}, nil
}

// confirmation reads one word that can only mean yes or no, as --yes and --no do.
func confirmation(ref string, words []string) (*bool, error) {
	if answer := strings.Join(words, " "); answer != "" {
		if yes, ok := client.YesOrNo(answer); ok {
			return &yes, nil
		}
	}
	return nil, output.Hint(fmt.Errorf("%s: it needs a confirmation, not an answer", ref), "messkit reply %s asks you at a terminal; --no refuses it from anywhere", ref)
}

// answersTo assigns words to questions: field=answer for each, or one answer for the only
// one.
func answersTo(ref string, s *mess.Status, words []string) (answers mess.Object, err error) {
	if strings.TrimSpace(strings.Join(words, "")) == "" {
		return nil, fmt.Errorf("%s: an answer is missing; %s", ref, questionsOf(s))
	}
	for _, w := range words {
		if field, value, ok := strings.Cut(w, "="); ok && hasField(s, field) {
			if strings.TrimSpace(value) == "" {
				return nil, fmt.Errorf("%s: the answer to %s is missing; %s", ref, field, questionsOf(s))
			}
			answers = answers.Set(field, value)
		}
	}
	if len(answers) == len(words) {
		return answers, nil
	}
	if len(s.Questions) != 1 {
		return nil, fmt.Errorf("%s: several questions are open; write field=answer for each: %s", ref, questionsOf(s))
	}
	return mess.Object{{Key: s.Questions[0].Key(), Value: strings.Join(words, " ")}}, nil
}

// The command waits for the executor if an answer is none of the options: the executor may
// still understand it.
const (
	understands = 30 * time.Second
	lookAgain   = 100 * time.Millisecond
)

// notTaken prints that an answer was none of the options, and that the executor asks again or
// has ended the thread.
func notTaken(ctx context.Context, x *httpclient.Client, ref string, answers mess.Object, asked *client.OpenQuestion) error {
	if asked == nil || !slices.ContainsFunc(asked.Status.Questions, func(q mess.Question) bool { return len(q.Options) > 0 && !offered(q, answers) }) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, understands)
	defer cancel()
	for ctx.Err() == nil {
		t, err := x.Thread(ctx, ref)
		if err != nil {
			return nil // the exchange has the answer already
		}
		switch s, in := mess.LastStatus(t.Messages); {
		case in.Ref == asked.Re:
		case s.Code == mess.NeedsInput && questionsOf(s) == questionsOf(asked.Status):
			return fmt.Errorf("%s: %s is none of the options; the executor asks again: %s", ref, valuesOf(answers), questionsOf(s))
		case t.Status.Terminal() && t.Status != mess.Completed:
			return fmt.Errorf("%s: %s was none of the options; the thread has ended: %s: %s", ref, valuesOf(answers), t.Status, output.ReasonOf(s))
		default:
			return nil
		}
		wait.For(ctx, lookAgain)
	}
	return nil
}

// valuesOf returns the answers without their field names.
func valuesOf(answers mess.Object) string {
	var values []string
	for _, a := range answers {
		values = append(values, fmt.Sprintf("%q", a.Value))
	}
	return strings.Join(values, ", ")
}

// offered reports whether the answer is one of the options.
func offered(q mess.Question, answers mess.Object) bool {
	value := strings.TrimSpace(answers.Text(q.Key()))
	return slices.ContainsFunc(q.Options, func(o string) bool { return strings.EqualFold(o, value) })
}

func hasField(s *mess.Status, field string) bool {
	return slices.ContainsFunc(s.Questions, func(q mess.Question) bool { return q.Key() == field })
}

func questionsOf(s *mess.Status) string {
	var list []string
	for _, q := range s.Questions {
		text := q.Key() + ": " + q.Question
		if len(q.Options) > 0 {
			text += " (" + strings.Join(q.Options, ", ") + ")"
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}
