package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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
	var asked *openQuestion
	switch {
	case k.yes || k.no:
		if len(answers) > 0 {
			return fmt.Errorf("%s: give an answer, or --yes or --no, not both", ref)
		}
		r.Confirm = &k.yes
	default:
		if r.Answers, asked, err = answersTo(ctx, x, ref, answers); err != nil {
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
	if err := notTaken(ctx, x, ref, r.Answers, asked); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "%s answered; messkit show %[1]s tells what comes of it\n", ref)
	return err
}

// answersTo gives words to the questions that are open: field=answer for each,
// or one answer for the only question. asked is what asks them.
func answersTo(ctx context.Context, x *remote.Client, ref string, words []string) (_ mess.Object, asked *openQuestion, _ error) {
	thread, _, _ := strings.Cut(ref, "/")
	t, err := x.Thread(ctx, thread)
	if err != nil {
		return nil, nil, err
	}
	s, in := lastStatus(t.Messages)
	switch {
	case t.Status == mess.NeedsConfirmation:
		return nil, nil, hint(fmt.Errorf("%s: a confirmation is needed, not an answer", ref), "messkit reply %s --yes, or --no", ref)
	case t.Status != mess.NeedsInput || s == nil:
		return nil, nil, fmt.Errorf("%s: no question is open; it is %s", ref, t.Status)
	case len(words) == 0:
		return nil, nil, fmt.Errorf("%s: an answer is missing; %s", ref, questionsOf(s))
	}
	var answers mess.Object
	for _, w := range words {
		if field, value, ok := strings.Cut(w, "="); ok && asks(s, field) {
			answers = answers.Set(field, value)
		}
	}
	if len(answers) == len(words) {
		return answers, &openQuestion{re: in.Ref, status: s}, nil
	}
	if len(s.Questions) != 1 {
		return nil, nil, fmt.Errorf("%s: several questions are open; write field=answer for each: %s", ref, questionsOf(s))
	}
	return mess.Object{{Key: s.Questions[0].Key(), Value: strings.Join(words, " ")}}, &openQuestion{re: in.Ref, status: s}, nil
}

// Who asks is waited for where an answer is none of the options: it may understand it
// all the same.
const (
	understands = 30 * time.Second
	lookAgain   = 100 * time.Millisecond
)

// notTaken tells that an answer was none of the options, and the same is asked again.
func notTaken(ctx context.Context, x *remote.Client, ref string, answers mess.Object, asked *openQuestion) error {
	if asked == nil || !slices.ContainsFunc(asked.status.Questions, func(q mess.Question) bool { return len(q.Options) > 0 && !offered(q, answers) }) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, understands)
	defer cancel()
	for ctx.Err() == nil {
		t, err := x.Thread(ctx, ref)
		if err != nil {
			return nil // it was sent
		}
		switch s, in := lastStatus(t.Messages); {
		case in.Ref == asked.re:
		case s.Code == mess.NeedsInput && questionsOf(s) == questionsOf(asked.status):
			var said []string
			for _, a := range answers {
				said = append(said, fmt.Sprintf("%q", a.Value))
			}
			return fmt.Errorf("%s: %s is none of what can be answered, and it is asked again: %s", ref, strings.Join(said, ", "), questionsOf(s))
		default:
			return nil
		}
		select {
		case <-ctx.Done():
		case <-time.After(lookAgain):
		}
	}
	return nil
}

// offered reports whether a question offers what it is answered with.
func offered(q mess.Question, answers mess.Object) bool {
	v, _ := answers.Get(q.Key())
	said, _ := v.(string)
	return slices.ContainsFunc(q.Options, func(o string) bool { return strings.EqualFold(o, strings.TrimSpace(said)) })
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
