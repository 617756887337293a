package mutants_test

// executorMutants are the planted faults of the executor.
var executorMutants = []mutant{
	{"no start gate", []edit{{
		"agent/task/execute.go", "asked, err = t.permission(ctx, plan)\n", "asked, err = t.Now(), error(nil)\n",
	}}, "./agent TestCancelBeforeStart|TestAnotherExecutorHasClaim|TestLeaseLostBeforeStart|TestDeathAtEveryPoint|TestConnectionIsLostAtStart"},
	{"no journal", []edit{{
		"agent/task/execute.go", "err := t.Journal.Intent(ctx, i, notes...)", "err := error(nil); _, _ = i, notes",
	}}, "./agent TestCrash"},
	{"journal after acting", []edit{
		{"agent/task/execute.go", "if err := t.writeIntent(ctx, plan, begin); err != nil && plan.Actuates() {", "if err := error(nil); err != nil && plan.Actuates() {"},
		{"agent/task/execute.go", "r := t.act(ctx, pass, plan, func(r action.Result) { t.storeResult(ctx, plan, r) })\n", "r := t.act(ctx, pass, plan, func(r action.Result) { t.storeResult(ctx, plan, r) })\n\t_ = t.writeIntent(ctx, plan, withoutNotes)\n"},
	}, "./agent TestCrash|TestDeathAtEveryPoint"},
	{"a home forgets that a device has moved", []edit{{
		"agent/resolver/cache.go", "if p.driver.Area() != c.areas[i] {", "if p.driver.Area() != c.areas[i] && i < 0 {",
	}}, "./agent TestCachedHomeAnswersAsNew|TestCacheFollowsMovingDevices"},
	{"a home forgets that a vacuum knows other rooms", []edit{{
		"agent/resolver/cache.go", "return revision != c.revisions[p.index]", "return revision < c.revisions[p.index]",
	}}, "./agent TestCachedHomeAnswersAsNew|TestKnownRoomsAreRemembered"},
	{"the intent goes without what the policy has to write", []edit{{
		"agent/policy/ledger.go", "if err := write(ctx, notes...); err != nil {", "if err := write(ctx); err != nil {",
	}}, "./agent/policy TestActNeedsOneSync"},
	{"a lost part of the journal frees the budgets", []edit{{
		"agent/policy/rules_budget.go", "if !g.ledgerGap.IsZero() && ", "if false && ",
	}}, "./agent/policy TestLostActsUseBudget"},
	{"what was begun and not done stays due", []edit{{
		"agent/policy/pass.go", "p.revertPendingOff()\n", "",
	}}, "./agent/policy TestFailedActLeavesNoPendingOff"},
	{"an older note on what is due wins", []edit{{
		"agent/journal/ledger.go", "if n.Serial < b.PendingOffs[n.Device].Serial {", "if false {",
	}}, "./agent/journal TestLedgerSurvivesReopening"},
	{"files of an older version count again", []edit{{
		"agent/localpolicy/adopt.go", "; !begun {", "; !begun || begun {",
	}}, "./agent/localpolicy TestAdoptOnce"},
	{"acts that an older version has written do not count", []edit{{
		"agent/localpolicy/adopt.go", "b, err := f.oldLedger()", "b, err := journal.Ledger{}, error(nil)",
	}}, "./cmd/messkit TestUpgradeOfStoppedSystem"},
	{"a key of the configuration has another name", []edit{{
		"exchange/exchange.go", "`yaml:\"quiet_lease\"`", "`yaml:\"lease_without_heartbeat\"`",
	}}, "./cmd/messkit TestUpgradeAcceptsConfigurations/keys"},
	{"started work is begun again", []edit{{
		"agent/task/recovery.go", "harmless := m.Plan.Repeatable()", "harmless := true",
	}}, "./agent TestCrash"},
	{"a command is repeated unseen after a crash", []edit{{
		"agent/task/task.go", "return t.readBackFirst(ctx)", "return nil",
	}}, "./agent TestCrash"},
	{"what acts for a time is repeated after a crash", []edit{{
		"capabilities/plan.go", "if step.Actuates() && (step.Effect != Idempotent || step.For > 0) {", "if step.Actuates() && step.Effect != Idempotent {",
	}}, "./agent TestCrash"},
	{"a short time is not set at the device", []edit{{
		"drivers/template/pick.go", "case t.Fine.Unit > 0 && limit <= t.Fine.Max:", "case false:",
	}}, "./drivers/template TestFineTimer"},
	{"the answer counts on a timer that the device does not have", []edit{{
		"agent/policy/timer_watchdog.go", "if d.pending != nil && left > 0 {", "if left = max(1, left); d.pending != nil {",
	}}, "./agent TestAnswerNamesWhatSwitchesOff"},
	{"one requester takes every slot", []edit{{
		"agent/task/slots.go", "(s.working[by] < free || s.working[by] == 0)", "true",
	}}, "./agent TestPlacesAreSharedFairly"},
	{"the open questions of one requester take every slot", []edit{{
		"agent/task/slots.go", "if count[most] <= count[t.by]+1 || oldest < 0 {", "if true || oldest < 0 {",
	}}, "./agent TestOpenQuestions"},
	{"what waits for an answer holds a slot", []edit{{
		"agent/task/dialogue.go", "answer, err := awaitWhileIdle(ctx, t, answerTo(q.Field))", "answer, err := await(ctx, t, answerTo(q.Field))",
	}}, "./agent TestOpenQuestions"},
	{"a begun thread without a task waits for a restart", []edit{{
		"agent/task/reconcile.go", "known && !(task.Open() && task.Epoch == h.Epoch) {", "known && (true || task.Open()) {",
	}}, "./agent TestStartedThreadWithoutTaskIsReported"},
	{"the report of a begun thread without a task waits for another report", []edit{{
		"agent/task/reconcile.go", "\tts.forget(t)\n\tts.WakeOutbox()\n", "\tts.forget(t)\n",
	}}, "./agent TestStartedThreadWithoutTaskIsReported"},
	{"unknown outcome told as completed", []edit{{
		"agent/task/recovery.go", "if is == action.FoundDone {", "if is != action.FoundNotDone || true {",
	}}, "./agent TestCrash"},
	{"unknown outcome told as nothing done", []edit{{
		"agent/task/recovery.go", `s := failed("interrupted", detail+"; "+how+"; "+lateCommandText, mess.EffectUnknown, plan)`, `s := failed("interrupted", detail+"; "+how+"; "+lateCommandText, mess.EffectNone, plan)`,
	}}, "./agent TestCrash"},
	{"poison is taken again and again", []edit{{
		"agent/task/recovery.go", "const maxCrashes = 2", "const maxCrashes = 1 << 20",
	}}, "./agent TestFatalTaskIsQuarantined|TestFatalSentenceIsRetriedOnce"},
	{"report dropped before it is taken", []edit{{
		"agent/task/outbox.go", "return sent, true\n\t\t}\n", "}\n",
	}}, "./agent TestReportSurvivesProgram|TestThreeDaysWithoutExchange|TestConnectionIsLostDuringAct"},
	{"cancel ignored after the start", []edit{
		{"agent/task/inbox.go", "case *mess.Cancel:\n\t\t\tif t != nil {", "case *mess.Cancel:\n\t\t\tif t != nil && t.epoch == 0 {"},
		{"agent/task/tasks.go", "case h.Stop != nil && *h.Stop:", "case false:"},
	}, "./agent TestCancelDuringAct"},
	{"cancel by heartbeat ignored", []edit{{
		"agent/task/tasks.go", "case h.Stop != nil && *h.Stop:", "case false:",
	}}, "./agent TestCancelInHeartbeatAck"},
	{"executor acts without a journal", []edit{{
		"agent/task/task.go", "if err := ts.Journal.EnsureRoom(ctx); err != nil {", "if err := ts.Journal.EnsureRoom(ctx); err != nil && false {",
	}}, "./agent TestUnwritableJournal|TestFailedJournalWithdrawsActs"},

	{"a restart ends the watch for a late act", []edit{{
		"agent/task/recovery.go", "\t\tts.resumeWatch(ctx, late)\n", "\t\t_ = late\n",
	}}, "./agent TestLateActIsReportedAfterKills"},
	{"the watch for a late act is not written before the report", []edit{{
		"agent/task/outbox.go", "\tt.storeLateCommands(ctx) ", "\t",
	}}, "./agent TestLateActIsReportedAfterKills"},
	{"a command of a dead process is forgotten", []edit{{
		"agent/task/recovery.go", "		t.expectEarlierCommands(ctx)\n		ts.mu.Lock()\n", "		ts.mu.Lock()\n",
	}}, "./agent TestCommandOfDeadProcessMayStillAct"},
}
