package main

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/messkit/messkit/exchange/remote/httpclient"
	"github.com/messkit/messkit/internal/cli/client"
	"github.com/messkit/messkit/internal/cli/output"
	"github.com/messkit/messkit/mess"
)

func TestDashboard(t *testing.T) {
	now := time.Date(2026, 11, 22, 10, 0, 0, 0, time.UTC)
	thread := func(ref string, code mess.Code, ago time.Duration, executor, intent string) httpclient.Thread {
		return httpclient.Thread{Ref: ref, Status: code, Updated: now.Add(-ago), Executor: executor, Intent: intent}
	}
	b := &client.TaskBoard{
		Where: "http://127.0.0.1:8420", LastStatus: map[string]*mess.Status{},
		Executors: []httpclient.Executor{
			{ID: "kitchen-pi", Live: true},
			{ID: "porch-pi", LastSeen: "2026-11-22T09:00:00Z", Stopped: &mess.StopState{Reason: "smoke"}},
		},
		Threads: []httpclient.Thread{
			thread("2026-11-22-004", mess.Completed, 3*time.Second, "kitchen-pi", "is the light on?"),
			thread("2026-11-22-003", mess.InProgress, 65*time.Second, "kitchen-pi", "vacuum the kitchen"),
			thread("2026-11-22-002", mess.NeedsInput, 2*time.Hour, "kitchen-pi", "turn on the light"),
			thread("2026-11-19-001-web-f829", mess.Pending, 73*time.Hour, "", "paint\x1b[31m the fence"),
		},
	}
	half := 50.0
	b.AddMessages("2026-11-22-003", mess.Message{Items: []mess.Item{&mess.Status{Code: mess.InProgress, ProgressPct: &half, Message: "by the stove"}}})
	which := []mess.Question{{Question: "which one: hall or porch?", Options: []string{"hall", "porch"}}}
	b.AddMessages("2026-11-22-002", mess.Message{Items: []mess.Item{&mess.Status{Code: mess.NeedsInput, Questions: which}}})
	b.AddMessages("2026-11-22-004", mess.Message{Items: []mess.Item{&mess.Status{Code: mess.Claimed, Message: "of a state that is over"}}})
	want := now.Local().Format(time.TimeOnly) + `  http://127.0.0.1:8420  3 open  2 executors

kitchen-pi            here
porch-pi              silent since 2026-11-22T09:00:00Z, STOPPED: smoke; ` + output.SafeDevices(mess.StopState{}) + `

2026-11-22-002  needs input    2h  kitchen-pi  turn on the light  which one?
  messkit reply 2026-11-22-002 ANSWER
2026-11-22-003  in progress    1m  kitchen-pi  vacuum the kitchen  █████░░░░░  50 %  by the stove
2026-11-19-001  pending        3d              paint` + "\x1b" + `[31m the fence
2026-11-22-004  completed      3s  kitchen-pi  is the light on?

messkit stop takes everything to its safe state; Ctrl-C leaves this page`
	if diff := cmp.Diff(want, strings.Join(b.Lines(now, 120, 24), "\n")); diff != "" {
		t.Error(diff)
	}
	// A small screen still shows a task that waits for an answer, and the number of hidden tasks.
	small := b.Lines(now, 40, 17)
	if text := strings.Join(small, "\n"); len(small) > 17 || !strings.Contains(text, "reply 2026-11-22-002") || !strings.Contains(text, "\n2 more open: messkit ls\n") {
		t.Errorf("%s", text)
	}
	// A small screen hides terminal tasks first. The hint how to stop stays visible.
	few := b.Lines(now, 120, 11)
	if len(few) != 11 || !strings.HasPrefix(few[8], "2026-11-19-001") || !strings.HasPrefix(few[10], "messkit stop") {
		t.Errorf("%q", few)
	}
	// A narrow terminal cuts off no important text.
	narrow := now.Local().Format(time.TimeOnly) + `  http://127.0.0.1:8420  3 open
  2 executors

kitchen-pi            here
porch-pi              silent since
  2026-11-22T09:00:00Z, STOPPED: smoke;
  ` + output.SafeDevices(mess.StopState{}) + `

2026-11-22-002  needs input    2h
  kitchen-pi  turn on the light  which
  one?
  messkit reply 2026-11-22-002 ANSWER
2026-11-22-003  in progress    1m
  kitchen-pi  vacuum the kitchen
  █████░░░░░  50 %  by the stove
2026-11-19-001  pending        3d
  paint` + "\x1b" + `[31m the fence
2026-11-22-004  completed      3s
  kitchen-pi  is the light on?

messkit stop takes everything to its
  safe state; Ctrl-C leaves this page`
	if diff := cmp.Diff(narrow, strings.Join(b.Lines(now, 40, 24), "\n")); diff != "" {
		t.Error(diff)
	}
	client.Snapshot{Err: errors.New("no route")}.To(b)
	if got := b.Lines(now, 120, 24); got[1] != "NOT REACHED  no route" || len(b.Threads) != 4 {
		t.Errorf("%q", got)
	}
	client.Snapshot{Threads: b.Threads[:1]}.To(b)
	if got := b.Lines(now, 120, 24); strings.Contains(strings.Join(got, ""), "NOT REACHED") || len(b.LastStatus) != 1 {
		t.Errorf("%q, %v", got, b.LastStatus)
	}
}

// TestDocumentedDashboardMatches checks that docs/reference/command-line.md shows the dashboard as
// messkit draws it.
func TestDocumentedDashboardMatches(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/command-line.md")
	if err != nil {
		t.Fatal(err)
	}
	_, shown, _ := strings.Cut(string(text), "```console\n")
	shown, _, ok := strings.Cut(shown, "\n```")
	if !ok {
		t.Fatal("docs/reference/command-line.md shows no dashboard")
	}
	now := time.Date(2026, 11, 22, 9, 44, 59, 0, time.Local)
	thread := func(ref string, code mess.Code, ago time.Duration, intent string) httpclient.Thread {
		return httpclient.Thread{Ref: ref, Status: code, Updated: now.Add(-ago), Executor: "kitchen-pi", Intent: intent}
	}
	b := &client.TaskBoard{
		Where: "http://127.0.0.1:8420", LastStatus: map[string]*mess.Status{}, Executors: []httpclient.Executor{{ID: "kitchen-pi", Live: true}},
		Threads: []httpclient.Thread{ // the newest change comes first
			thread("2026-11-22-001", mess.InProgress, 0, "vacuum the kitchen"),
			thread("2026-11-22-003", mess.NeedsInput, time.Second, "turn on the light"),
			thread("2026-11-22-002", mess.Completed, time.Second, "turn on the porch light for ten minutes"),
		},
	}
	done := 61.0
	b.AddMessages("2026-11-22-001", mess.Message{Items: []mess.Item{&mess.Status{Code: mess.InProgress, ProgressPct: &done, Message: "cleaning by stove"}}})
	b.AddMessages("2026-11-22-003", mess.Message{Items: []mess.Item{&mess.Status{Code: mess.NeedsInput, Questions: []mess.Question{{Question: "which one?"}}}}})
	if diff := cmp.Diff(strings.Join(b.Lines(now, 120, 24), "\n"), shown); diff != "" {
		t.Error(diff)
	}
}
