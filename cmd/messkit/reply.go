package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/messkit/messkit/exchange/remote"
	"github.com/messkit/messkit/mess"
)

// replying is what the flags of reply say.
type replying struct {
	client
	wait    waiting
	doWait  bool
	yes, no bool
	reason  string
}

func (a *app) replyCommand() *cobra.Command {
	var k replying
	c := &cobra.Command{
		Use:   "reply REF [ANSWER]",
		Short: "Answer a question, or confirm or refuse an action",
		Long: `Reply answers what an executor wants to know. A confirmation is given with --yes
or --no, and names its request: there is no "last" for it. Where an executor has
asked more than once, it names the question.`,
		Example: `  messkit reply 2026-11-21-003 both
  messkit reply 2026-11-21-003 area=both
  messkit reply 2026-11-21-003 --yes --wait
  messkit reply 2026-11-21-003/question-005 --yes`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if k.doWait {
				if err := k.wait.folder(c); err != nil {
					return err
				}
			}
			return k.unreachable(a.reply(c.Context(), &k, args[0], args[1:]))
		},
	}
	k.flags(c)
	k.wait.flags(c)
	f := c.Flags()
	f.BoolVarP(&k.doWait, "wait", "w", false, "show progress until the end")
	f.BoolVar(&k.yes, "yes", false, "confirm the action")
	f.BoolVar(&k.no, "no", false, "refuse the action")
	f.StringVar(&k.reason, "reason", "", "why")
	c.MarkFlagsMutuallyExclusive("yes", "no")
	return c
}

func (a *app) reply(ctx context.Context, k *replying, ref string, answers []string) error {
	x, err := k.open()
	if err != nil {
		return err
	}
	r := &mess.Reply{Re: mess.Refs{ref}, Reason: k.reason}
	switch {
	case k.yes || k.no:
		if len(answers) > 0 {
			return fmt.Errorf("%s: give an answer, or --yes or --no, not both", ref)
		}
		r.Confirm = &k.yes
	default:
		if r.Answers, err = answersTo(ctx, x, ref, answers); err != nil {
			return err
		}
	}
	if _, err := x.Send(ctx, mess.Message{Items: []mess.Item{r}}); err != nil {
		return err
	}
	ref, _, _ = strings.Cut(ref, "/") // the thread of the question
	if k.doWait {
		k.wait.said = true
		return a.follow(ctx, x, ref, &k.wait)
	}
	_, err = fmt.Fprintf(a.out, "%s answered; messkit show %[1]s tells what comes of it\n", ref)
	return err
}

// answersTo gives words to the questions that are open: field=answer for each,
// or one answer for the only question.
func answersTo(ctx context.Context, x *remote.Client, ref string, words []string) (mess.Object, error) {
	thread, _, _ := strings.Cut(ref, "/")
	t, err := x.Thread(ctx, thread)
	if err != nil {
		return nil, err
	}
	s, _ := lastStatus(t.Messages)
	switch {
	case t.Status == mess.NeedsConfirmation:
		return nil, hint(fmt.Errorf("%s: a confirmation is needed, not an answer", ref), "messkit reply %s --yes, or --no", ref)
	case t.Status != mess.NeedsInput || s == nil:
		return nil, fmt.Errorf("%s: no question is open; it is %s", ref, t.Status)
	case len(words) == 0:
		return nil, fmt.Errorf("%s: an answer is missing; %s", ref, questionsOf(s))
	}
	var answers mess.Object
	for _, w := range words {
		if field, value, ok := strings.Cut(w, "="); ok && asks(s, field) {
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

func asks(s *mess.Status, field string) bool {
	for _, q := range s.Questions {
		if q.Key() == field {
			return true
		}
	}
	return false
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

// lastStatus is the most recent report of an executor, and the ref of the
// message that it stands in.
func lastStatus(messages []mess.Message) (last *mess.Status, in mess.Message) {
	for _, m := range messages {
		for _, item := range m.Items {
			if s, ok := item.(*mess.Status); ok {
				last, in = s, m
			}
		}
	}
	return last, in
}
