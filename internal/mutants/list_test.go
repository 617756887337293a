package mutants_test

// mutants are the planted faults. Their names describe the fault.
var mutants = []mutant{
	// The executor.
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
		"drivers/family/pick.go", "case t.Fine.Unit > 0 && limit <= t.Fine.Max:", "case false:",
	}}, "./drivers/family TestFineTimer"},
	{"the answer counts on a timer that the device does not have", []edit{{
		"agent/policy/timer_watchdog.go", "if d.pending != nil && left > 0 {", "if left = max(1, left); d.pending != nil {",
	}}, "./agent TestAnswerNamesWhatSwitchesOff"},
	{"one requester takes every place", []edit{{
		"agent/task/places.go", "(s.working[by] < free || s.working[by] == 0)", "true",
	}}, "./agent TestPlacesAreSharedFairly"},
	{"the open questions of one requester take every place", []edit{{
		"agent/task/places.go", "if count[most] <= count[t.by]+1 || oldest < 0 {", "if true || oldest < 0 {",
	}}, "./agent TestOpenQuestions"},
	{"what waits for an answer holds a place", []edit{{
		"agent/task/dialogue.go", "said, err := awaitWhileIdle(ctx, t, answerTo(q.Field))", "said, err := await(ctx, t, answerTo(q.Field))",
	}}, "./agent TestOpenQuestions"},
	{"a begun thread without a task waits for a restart", []edit{{
		"agent/task/reconcile.go", "known && !(task.Open() && task.Epoch == h.Epoch) {", "known && (true || task.Open()) {",
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

	// The safety policy.
	{"guard off", []edit{{
		"agent/policy/timer_watchdog.go", "return watchdogRejection(d, g.watchdog.Ready(d.name))", "return nil",
	}}, "./agent/policy TestNothingIsOnWithoutWatchdog"},
	{"switched on before the guard knows", []edit{{
		"agent/policy/timer_watchdog.go", "if err := g.watchdog.WillBeOn(d.name, in); err != nil {", "if err := g.watchdog.WillBeOn(d.name, in); err != nil && false {",
	}}, "./agent/policy TestNothingIsOnWithoutWatchdog|TestWatchdogIsNotifiedInOrder|TestWatchdogSwitchesOffForHangingDriver"},
	{"max_on ignored", []edit{{
		"agent/policy/rules.go", "\treturn l.MaxOn\n", "\treturn 0\n",
	}}, "./agent/policy TestMaxOn"},
	{"longer than max_on is allowed", []edit{{
		"agent/policy/rules.go", "if p.For <= limit {", "if p.For <= limit || true {",
	}}, "./agent/policy TestMaxOn|TestEveryRuleIsDocumented|TestObedientPlannerStaysInLimits"},
	{"asking again prolongs max_on", []edit{{
		"agent/policy/timer_watchdog.go", "limit > 0 && on.Add(limit).Before(due) {", "limit > 0 && on.Add(limit).Before(due) && false {",
	}}, "./agent/policy TestMaxOn"},
	{"interlock ignored", []edit{{
		"agent/policy/rules_interlock.go", "case on:\n", "case on && false:\n",
	}}, "./agent/policy TestInterlock"},
	{"interlock ignored for two at once", []edit{{
		"agent/policy/rules_interlock.go", "if other.active {", "if other.active && false {",
	}}, "./agent/policy TestInterlock"},
	{"arming ignored", []edit{{
		"agent/policy/rules_lockout.go", `if class == "" || g.decisions.ArmedDevices[d.name] {`, `if true || class == "" {`,
	}}, "./agent/policy TestLockoutAndDisarming"},
	{"a crash disarms nothing", []edit{{
		"agent/localpolicy/decisions.go", "for _, c := range classes {", "for _, c := range classes[:0] {",
	}}, "./agent/localpolicy TestUncleanShutdownDisarms"},
	{"lock ignored", []edit{{
		"agent/policy/rules_lockout.go", `case locked && why != "":`, `case !locked || why != "":`,
	}}, "./agent/policy TestLockoutAndDisarming"},
	{"yes of one plan for another at the device", []edit{{
		"agent/policy/rules.go", "who == ConfirmNever || o.Confirmed == o.Digest()", `who == ConfirmNever || o.Confirmed != ""`,
	}}, "./agent/policy TestConfirmationIsForOnePlan"},
	{"parameters beyond their bounds", []edit{{
		"agent/policy/rules_range.go", `if why := b.outside(value, given); why != "" {`, `if why := b.outside(value, given); why != "" && false {`,
	}}, "./agent/policy TestRange|TestDefaultRangeAppliesToAll"},
	{"conditions ignored", []edit{{
		"agent/policy/rules_conditions.go", `case got != "":`, `case false:`,
	}}, "./agent/policy TestRequires"},
	{"what is not known is allowed", []edit{{
		"agent/policy/rules_conditions.go", "case err != nil:\n\t\treturn no(", "case err != nil:\n\t\treturn nil\n\tcase false:\n\t\treturn no(",
	}}, "./agent/policy TestRequires"},
	{"old permission used", []edit{
		{"agent/policy/pass_recheck.go", "p.renew == nil || p.g.since(p.permissionAsked) <= FreshFor", "true"},
		{"agent/policy/pass_recheck.go", "p.g.since(looked) > FreshFor || p.renew != nil && p.g.since(p.permissionAsked) > FreshFor", "p.g.since(looked) > FreshFor"},
	}, "./agent/policy TestPermissionExpiresBetweenActs|TestLatePermissionIsRejected|TestPermissionExpiresDuringSuspend"},
	{"a hanging driver goes on being used", []edit{{
		"agent/policy/pass_driver_call.go", "c.dev.hungCalls[c] = true\n", "",
	}}, "./agent/policy TestHangingDriverIsQuarantined"},
	{"two tasks on one device", []edit{{
		"agent/policy/policy.go", "turn: make(chan struct{}, 1), actLock", "turn: make(chan struct{}, 2), actLock",
	}}, "./agent/policy TestOneTaskPerDevice"},
	{"budget of acts ignored", []edit{{
		"agent/policy/pass_recheck.go", "p.recordIfNeeded(ctx); err != nil {", "p.recordIfNeeded(ctx); err != nil && false {",
	}}, "./agent/policy TestMaxActs"},
	{"latch not kept", []edit{{
		"agent/stop/latch.go", "\t\terr := WriteOrder(s.cfg.Dir, o)\n", "\t\tvar err error\n",
	}}, "./agent/stop TestStopSurvivesRestart"},
	{"damaged latch counts as none", []edit{{
		"agent/stop/folder.go", `if err != nil {
		return []Order{{ID: unreadable`, `if err != nil && false {
		return []Order{{ID: unreadable`,
	}}, "./agent/stop TestUnreadableLatchIsLatched"},
	{"stopped, and it acts", []edit{{
		"agent/policy/safe_stop.go", "func (g *Policy) notStopped(*device, capabilities.Plan) error {\n\tif g.stopReason != \"\" {", "func (g *Policy) notStopped(*device, capabilities.Plan) error {\n\tif false {",
	}}, "./agent/policy TestNewDeviceDuringStopIsHalted|TestStopReportsUnchangedDevice|TestStopMakesEveryDeviceSafe|TestStopUnderLoad"},

	{"an earlier picture counts as a new one", []edit{{
		"agent/action/observe.go", "Evidence: mess.EvidenceUnknown", "Evidence: mess.Photographed",
	}}, "./agent TestEarlierImageKeepsItsTime"},
	{"a refusal calls legal what is refused", []edit{{
		"exchange/transition/claim.go", "\t\t\treturn t.confirmed() != nil\n", "\t\t\treturn false\n",
	}}, "./exchange TestAllowedCodesAreAccepted"},
	{"a picture of any thread is given again", []edit{{
		"exchange/context_refs.go", `return e.Type == "ref" && e.Extra.Text("thread") == ref`, `return e.Type != "" || ref != ""`,
	}, {
		"exchange/context_refs.go", "if !slices.ContainsFunc(own", "if len(own.Request().Context) > 0 && !slices.ContainsFunc(own",
	}}, "./exchange TestEarlierImageIsReused"},
	{"a channel misses what is said before it follows", []edit{{
		"exchange/inbox/follow.go", "	pos := x.Position()\n	begin()\n", "	begin()\n	pos := x.Position()\n",
	}}, "./exchange/inbox TestFollow"},
	{"a request beside a stop overtakes what waits", []edit{{
		"exchange/remote/mqttclient/receive.go", "\t\tm.Items = orders\n", "",
	}}, "./exchange/remote/mqttclient TestOnlyOrdersOvertake"},

	// The exchange.
	{"no fence", []edit{{
		"exchange/transition/claim.go", "t.Env.Holder() == t.Who.ID && (epoch == 0 || epoch == t.Env.Epoch)", "t.Env.Holder() == t.Who.ID || epoch == 1<<63",
	}}, "./exchange TestEarlierHolderIsFenced"},
	{"epoch not raised", []edit{{
		"exchange/transition/claim.go", "\tt.Env.Epoch++\n", "\tt.Env.Epoch = max(1, t.Env.Epoch)\n",
	}}, "./exchange TestEarlierHolderIsFenced"},
	{"claim of what is claimed", []edit{{
		"exchange/transition/transition.go", "if t.Env.Status == mess.Pending {\n\t\t\treturn t.claim(s)", "if t.Env.Status == mess.Pending || t.Env.Status == mess.Claimed {\n\t\t\treturn t.claim(s)",
	}}, "./exchange TestOneOfManyClaimsSucceeds"},
	{"two processes of one executor", []edit{{
		"exchange/transition/claim.go", `if t.Env.Instance == "" || !bound || s.Instance == t.Env.Instance {`, "if true || bound {",
	}}, "./exchange TestClaimBelongsToOneProcess"},
	{"a new process is its own twin", []edit{{
		"exchange/registration.go", " && now.Sub(l.heard) <= x.lease(e)/2\n", "\n",
	}}, "./exchange TestHeartbeatsNameTheirProcess"},
	{"a copy is told what the living process holds", []edit{{
		"exchange/registration.go", "!said[e.Ref] && !x.hasOtherProcess(l, e, c, now) {", "!said[e.Ref] {",
	}}, "./exchange TestHeartbeatsNameTheirProcess|TestRestartedExecutorLosesClaims"},
	{"what another journal has begun is given back", []edit{{
		"agent/task/reconcile.go", `case h.Instance != "" && !ts.Journal.RunBy(h.Instance):`, "case false:",
	}}, "./agent TestStartOfDeadProcessIsReturned"},
	{"a begun thread that nobody knows is kept", []edit{{
		"agent/task/reconcile.go", "case !s.handled && asked.After(s.since):", "case false:",
	}}, "./agent TestStartOfDeadProcessIsReturned"},
	{"who is away is forgotten over who declined", []edit{{
		"exchange/world.go", "if left := w.silentHolders(e); len(left) > 0 {", "if left := w.silentHolders(e); len(left) > 0 && false {",
	}}, "./exchange TestSilentExecutorFailsThread"},
	{"a start after everything was stopped", []edit{{
		"exchange/transition/start.go", `asks && why != "" && !t.byPerson() {`, `asks && why != "" && false {`,
	}}, "./exchange TestStopOfEverythingPreventsStart"},
	{"what waits outlives a stop of everything", []edit{{
		"exchange/routing/request.go", "stopped: stopped || env.Stopped,", "stopped: env.Stopped,",
	}}, "./exchange TestStopOfEverythingAppliesAtOnce"},
	{"a stop of everything is forgotten by a restart", []edit{{
		"exchange/registry/stop.go", "\tif all {\n\t\tkeys", "\tif false {\n\t\tkeys",
	}}, "./exchange TestStopOfEverythingAppliesAtOnce"},
	{"a few executors alone are ever offered a request", []edit{{
		"exchange/routing/choose.go", "if c.For >= wideAfter {", "if false {",
	}, {
		"exchange/routing/choose.go", "for range steps {", "for range steps * 0 {",
	}}, "./exchange TestFewExecutorsGetFirstOffers"},
	{"who has had enough offers gets none again", []edit{{
		"exchange/offers.go", "x.open.due.Set(refillKey+id, now)", "_ = now",
	}}, "./exchange TestOffersAreRefilled"},
	{"the longest queue of several executors counts", []edit{{
		"exchange/queue.go", "least = min(least, q.before(l))", "least = max(least%len(x.open.byRef), q.before(l))",
	}}, "./exchange TestQueuePositionIsBestOfExecutors"},
	{"who comes back is offered nothing of what waits", []edit{{
		"exchange/offers.go", "case joins && l.claimable(env, now):", "case joins && false:",
	}}, "./exchange TestLiveExecutorsGetOffers"},
	{"one document at a time is written", []edit{{
		"exchange/documents/documents.go", `LockContext(ctx, k.Kind+"\x00"+k.ID)`, `LockContext(ctx, "")`,
	}}, "./exchange TestConcurrentDocumentsShareSync"},
	{"a late report ends the next claim", []edit{{
		"exchange/thread/event.go", "if !e.isEvidence() {", "if true || !e.isEvidence() {",
	}}, "./exchange TestLateReportKeepsNextClaim"},
	{"two write the same document", []edit{{
		"exchange/documents/documents.go", `unlock, err := d.locks.LockContext(ctx, k.Kind+"\x00"+k.ID)`, `unlock, err := func() {}, error(nil)`,
	}}, "./exchange TestConcurrentDocumentsShareSync"},
	{"who polls counts as dead", []edit{{
		"exchange/registry/executor.go", "was := e.seen.Swap(&now)", "was := e.seen.Load()",
	}}, "./exchange TestPollingExecutorIsAlive"},
	{"a snapshot of the executors changes", []edit{{
		"exchange/registry/dict.go", "e.parts[at] = maps.Clone(e.parts[at]); e.parts[at] == nil", "_ = maps.Clone(e.parts[at]); e.parts[at] == nil",
	}}, "./exchange/registry TestSnapshot"},
	{"an executor that may act is deregistered", []edit{{
		"exchange/registry/deregister.go", "case r.IsLive(e, now):", "case false:",
	}}, "./exchange/registry TestDeregister"},
	{"the holder of a thread is deregistered", []edit{{
		"exchange/registry/deregister.go", "len(refs) > 0 {", "len(refs) > 99 {",
	}}, "./exchange/registry TestDeregister"},
	{"one name gets two keys", []edit{{
		"exchange/keys/issue.go", "next.current(actor); ok {", "next.current(actor); ok && false {",
	}}, "./exchange/keys TestConcurrentKeysShareWrite"},
	{"who resumes gets the events of others", []edit{{
		"exchange/eventbus/bus.go", "if k.to.All && o.SeesAll || slices.Contains(k.to.Actors, o.Actor) {", "if k.to.All || slices.Contains(k.to.Actors, o.Actor) {",
	}}, "./exchange/eventbus TestResume"},
	{"an ended thread keeps its alarm", []edit{{
		"exchange/open_threads.go", "\to.due.Drop(e.Ref)\n", "",
	}}, "./exchange TestEndedThreadsNeedNoState"},
	{"a refused report is given up", []edit{{
		"agent/task/outbox.go", "if err != nil && ts.retryAsUnknown(ctx, task, err) {", "if err != nil && false && ts.retryAsUnknown(ctx, task, err) {",
	}}, "./agent TestRejectedReportIsNoUnusedStart"},
	{"a thread is found before it is indexed", []edit{{
		"exchange/open_threads.go", "\to.loading[ref] = c\n", "",
	}}, "./exchange TestMessageBeforeAckIsKept"},
	{"one message ends the MQTT door", []edit{{
		"exchange/channel/mqtt/inbound.go", "\tdefer mistake.Caught(d.log, \"topic\", in.topic, \"bytes\", len(in.payload))\n", "\t_ = mistake.Caught\n",
	}}, "./exchange/channel/mqtt TestPanicDropsOneMessage"},
	{"confirmation not bound to its plan", []edit{{
		"exchange/transition/start.go", `case c == nil || c.ActionHash == "" || c.ActionHash == hash:`, "case true || c == nil:",
	}}, "./exchange TestConfirmationIsBoundToPlanAndClaim|TestStartNeedsConfirmedPlan"},
	{"confirmation not bound to its claim", []edit{
		{"exchange/transition/start.go", "case c.Epoch != t.Env.Epoch || c.Given == nil:", "case c.Given == nil:"},
		{"exchange/transition/claim.go", `t.Env.Phase, t.Env.Effect, t.Env.Confirm, t.Env.Questions, t.Env.Proposals = thread.NotStarted, "", nil, nil, nil`, `t.Env.Phase, t.Env.Effect, t.Env.Questions, t.Env.Proposals = thread.NotStarted, "", nil, nil`},
		{"exchange/transition/own.go", `e.Executor, e.Instance, e.Confirm, e.Questions = "", "", nil, nil`, `e.Executor, e.Instance, e.Questions = "", "", nil`},
	}, "./exchange TestStartNeedsConfirmation|TestConfirmationIsBoundToPlanAndClaim|TestConfirmationEndsWithClaim"},
	{"confirmation not needed", []edit{{
		"exchange/transition/start.go", "\tmust := t.Env.Needs.ConfirmBefore\n", "\tmust := false\n",
	}}, "./exchange TestStartNeedsConfirmation"},
	{"no is taken for yes", []edit{{
		"exchange/transition/start.go", "case !*c.Given:\n", "case false:\n",
	}}, "./exchange TestDeclinedConfirmationEndsThread"},
	{"answer judged twice", []edit{{
		"exchange/transition/reply.go", "case i >= 0 && asked[i].Given != nil && *asked[i].Given == yes:", "case false:",
	}}, "./exchange TestRepeatedConfirmationIsAccepted"},
	{"yes for a question that nobody has looked at", []edit{
		{"exchange/transition/reply.go", "case bare && yes && open && last > 0:", "case false:"},
		{"exchange/transition/reply.go", "case i != last:", "case false:"},
	}, "./exchange TestConfirmationMustNameQuestion"},
	{"a key alone confirms", []edit{{
		"exchange/transition/reply.go", `if yes && c.By == "operator" {`, "if false {",
	}}, "./exchange TestConfirmSettingDecidesProof"},
	{"a code confirms again", []edit{{
		"exchange/confirmation.go", "\tdefer c.mu.Unlock()\n\tdelete(c.of, question)", "\tdefer c.mu.Unlock()\n\t_ = question",
	}}, "./exchange TestCodeReleasesOnce"},
	{"a pipe releases a stop", []edit{{
		"internal/cli/safety/person.go", "if a.HasTerminal() && peer.Typed() == nil {", "if true || a.HasTerminal() && peer.Typed() == nil {",
	}}, "./cmd/messkit TestProgramWithoutTerminalReleasesNothing"},
	{"a key alone releases a stop", []edit{{
		"exchange/confirmation.go", "if err := by.MayRelease(p); err != nil {", "if err := by.MayRelease(p); err != nil && false {",
	}}, "./exchange TestReleaseNeedsProofOfPerson"},
	{"a second system shares the executor's folder", []edit{{
		"internal/config/check_folders.go", `if was == "" || was == at {`, `if was == "" || was != "" {`,
	}}, "./cmd/messkit TestScripts/second"},
	{"without its folder of words an act needs no confirmation", []edit{{
		"capabilities/catalog/own_words.go", "Asking: c.strict(func(string) bool { return true })", "Asking: c.strict(func(string) bool { return false })",
	}}, "./cmd/messkit TestScripts/words"},
	{"who confirms does not read who switches off", []edit{{
		"agent/task/dialogue.go", "for _, e := range t.verdict.SwitchOffs {", "for _, e := range t.verdict.SwitchOffs[:0] {",
	}}, "./agent TestAnswerNamesWhatSwitchesOff"},
	{"the thread keeps the code", []edit{{
		"exchange/confirmation.go", "code, c.Code = c.Code, \"\"", "code = c.Code",
	}}, "./exchange TestCodeConfirmsOneQuestionOnce"},
	{"a page that a program signed in confirms", []edit{{
		"exchange/channel/console/sessions.go", "return ok && s.Person", "return ok || s.Person",
	}}, "./cmd/messkit TestProgramWithoutTerminalConfirmsNothing"},
	{"an operator's key is made without a terminal", []edit{{
		"exchange/channel/httpapi/proof.go", "if p := c.proof(); p == exchange.AtTerminal {", "if true {",
	}}, "./cmd/messkit TestProgramWithoutTerminalConfirmsNothing"},
	{"a closed connection is root's", []edit{
		{"internal/peer/peer_linux.go", "|| fields[fieldState] != established {", "|| established == \"\" {"},
		{"internal/peer/peer_linux.go", "|| inode == 0 {", "|| inode == 1<<63 {"},
	}, "./internal/peer TestPeerIsRead"},
	{"another user of the machine registers", []edit{{
		"exchange/channel/httpapi/proof.go", "return peer.Same(c.localAddr(), c.r.RemoteAddr)", "return loopback(c.r.RemoteAddr), nil",
	}}, "./exchange/channel/httpapi TestOtherLocalUserNeedsCode"},
	{"another user of the machine at the broker", []edit{{
		"exchange/channel/mqtt/embedded_hooks.go", "return peer.Same(cl.Net.Conn.LocalAddr().String(), cl.Net.Conn.RemoteAddr().String())", "_, err := peer.Same(cl.Net.Conn.LocalAddr().String(), cl.Net.Conn.RemoteAddr().String())\n\treturn true, err",
	}}, "./exchange/channel/mqtt TestOtherLocalUserNeedsKey"},
	{"an executor registers more than its code grants", []edit{{
		"exchange/registration.go", "if !slices.Contains(all, one.ID) {", "if !slices.Contains(all, one.ID) && false {",
	}}, "./exchange/channel/httpapi TestCodeListsItsRights"},
	{"a stranger's question is read", []edit{{
		"agent/selftest/selftest.go", "if err := atplace.Allowed(conn); err != nil { // it reads nothing from other users", "if err := atplace.Allowed(conn); err != nil && false {",
	}}, "./agent/selftest TestOtherUserIsRejected"},
	{"what is behind chunks is a request", []edit{{
		"exchange/channel/httpapi/call.go", "if len(r.TransferEncoding) > 0 {", "if len(r.TransferEncoding) > 9 {",
	}}, "./exchange/channel/httpapi TestLengthAndChunksEndConnection"},
	{"a page of somebody else registers", []edit{{
		"exchange/channel/httpapi/auth.go", "return origin != \"\" && origin != \"http://\"+c.r.Host && origin != \"https://\"+c.r.Host", "return false && origin != \"\"",
	}}, "./exchange/channel/httpapi TestForeignPageCannotRegister"},
	{"lease ignored", []edit{{
		"exchange/scheduler.go", "at(l.heard.Add(x.lease(*e)))", "at(l.heard.Add(x.lease(*e) + 1000*time.Hour))",
	}}, "./exchange TestLeaseEndsBeforeStart"},
	{"what may not be done twice is offered again", []edit{{
		"exchange/transition/own.go", `(e.Effect == "query" || e.Effect == "idempotent"):`, `(e.Effect != "nothing"):`,
	}}, "./exchange TestExecutorSilentAfterStart"},
	{"begun work is offered again at once", []edit{{
		"exchange/scheduler.go", "case e.Phase == NotStarted:\n\t\treturn transition.OfferAgain", "case e.Phase != Finished:\n\t\treturn transition.OfferAgain",
	}}, "./exchange TestExecutorSilentAfterStart"},
	{"needed_by ignored at the start", []edit{{
		"exchange/transition/start.go", "if asks && !t.Env.Expires.IsZero()", "if asks && t.Env.Expires.Year() == 1",
	}}, "./exchange TestNoStartPermissionAfterNeededBy"},
	{"expired request claimed", []edit{
		{"exchange/world.go", "\tif isExpired(&env, w.now) {\n", "\tif false {\n"},
		{"exchange/scheduler.go", "case e.Phase == NotStarted && isExpired(&e, now):\n\t\treturn transition.Expire(now)", "case false:\n\t\treturn transition.Expire(now)"},
	}, "./exchange TestTimesOfARequest|TestRepeatedClaimKeepsQuestion"},
	{"what it depends on is not waited for", []edit{{
		"exchange/offers.go", "if code != mess.Completed {", "if code == mess.Failed {",
	}}, "./exchange TestSeveralRequestsInOneMessage|TestDependencyEndedBeforeRestart|TestFailedDependencyEndsDependents"},
	{"cancel of begun work told at once", []edit{{
		"exchange/transition/reply.go", "if t.Env.Phase == thread.Started {", "if false {",
	}}, "./exchange TestCancelBeforeAndAfterStart"},
	{"late report wins", []edit{{
		"exchange/transition/claim.go", "case t.Env.HasHeld(t.Who.ID) && s.Code.Terminal():\n\t\tt.Evidence = true\n\t\treturn false, nil", "case t.Env.HasHeld(t.Who.ID) && s.Code.Terminal():\n\t\treturn true, nil",
	}}, "./exchange Test"},
	{"the same message taken twice", []edit{{
		"exchange/transition/transition.go", "if ref, ok := e.Processed(in.Who.ID, in.Message.ID); ok {", "if ref, ok := e.Processed(in.Who.ID, in.Message.ID); ok && false {",
	}}, "./exchange TestDuplicateMessageIsStoredOnce"},
	{"duplicate client id makes a new thread", []edit{{
		"exchange/create.go", "if t.ClientID != \"\" {", "if false {",
	}}, "./exchange TestDuplicateRequestHasOneThread"},
	{"a step with an unknown outcome counts as another's", []edit{{
		"exchange/storage.go", "case readErr == nil && t.Op == s.Envelope.Op:", "case false:",
	}}, "./exchange TestUnknownStoreOutcome"},
	{"a ref is given twice", []edit{{
		"exchange/store/files/store.go", `case step.After == "" && (ok || !s.isFree(ref)):`, "case false:",
	}}, "./exchange/store/files TestConformance"},
	{"the numbers of changes begin anew with each log", []edit{{
		"exchange/store/files/log_compact.go", "c.last = x.last()", "c.last = 0",
	}}, "./exchange/store/files TestPositionsStayValid"},
	{"what is stored while the log is made anew is not found", []edit{{
		"exchange/store/files/log_compact.go", "k.records = slices.Concat(now, k.records[len(was):])", "k.records = slices.Clone(now)",
	}}, "./exchange/store/files TestPowerCutDuringCompaction"},
	{"a thread that had ended and went on stands as it had ended", []edit{{
		"exchange/store/files/log_ended_index.go", "e != nil && e.Ver > was.Ver", "e != nil && e.Ver > was.Ver+9",
	}}, "./exchange/store/files TestEndedThreadsMatchModel"},
	{"a copy of an archived thread begins again", []edit{{
		"exchange/store/files/import_external.go", "if !isEndedFolder(p.Folder) && s.archived(ref) {", "if false {",
	}}, "./exchange/store/files TestArchivalKeepsForeignFiles"},
	{"a thread that changes while it is archived loses the change", []edit{{
		"exchange/store/files/archive.go", "!slices.Equal(s.contents(a.place), a.files) {", "false {",
	}}, "./exchange/store/files TestChangedThreadIsNotArchived"},
	{"a log of a later format is opened", []edit{{
		"exchange/store/files/log_format.go", "if n <= format {", "if n > 0 {",
	}}, "./exchange/store/files TestDowngradeIsRejected"},
	{"what has begun is handed on", []edit{{
		"exchange/transition/suggestion.go", "if t.Env.Phase != thread.NotStarted {\n\t\treturn mess.Errorf(mess.IllegalTransition, \"it has begun, so a", "if false {\n\t\treturn mess.Errorf(mess.IllegalTransition, \"it has begun, so a",
	}}, "./exchange TestUnusableSuggestionChangesNothing"},
	{"who gives up a request by a suggestion may still begin it", []edit{{
		"exchange/transition/suggestion.go", "\tt.release(why)\n", "",
	}}, "./exchange TestAcceptedDelegationMovesThread"},
	{"a long text that is no content is let in", []edit{{
		"mess/long.go", "if strictyaml.Apart([]byte(n.Text)) > LongText {\n\t\t\td.fail", "if false {\n\t\t\td.fail",
	}}, "./mess TestLongTexts"},
	{"a default rule comes before the others", []edit{{
		"exchange/routing/table.go", "n.rules = append(n.rules, mess.Rule{Prefer: r.Default.Prefer})", "n.rules = append([]mess.Rule{{Prefer: r.Default.Prefer}}, n.rules...)",
	}}, "./exchange TestMESSEAFRouting"},
	{"an upload is not made smaller", []edit{{
		"exchange/channel/httpapi/attachments.go", "if f.size != \"\" {", "if false {",
	}}, "./exchange/channel/httpapi TestImageFitsOnRequest"},
	{"offers come by age alone", []edit{{
		"exchange/queue.go", "q.rank-p.rank,", "0,",
	}}, "./exchange TestOffersAreOrdered"},
	{"a filter does not know received", []edit{{
		"exchange/query.go", "if c == mess.Received {", "if c == mess.Received && false {",
	}}, "./exchange TestFilterAcceptsReceivedAndPending"},
	{"large data stay in a message until its folder is written", []edit{{
		"exchange/thread/files.go", "if !ok || len(data) <= most {", "if true {",
	}}, "./exchange/channel/httpapi TestUploadedImageHasOneForm"},
	{"a restart forgets where the webhooks were", []edit{{
		"exchange/channel/webhook/resume.go", "doc := docs[positionName]; doc != nil {", "doc := docs[positionName]; doc != nil && false {",
	}}, "./exchange/channel/webhook TestEventsOfCrashArrive"},
	{"people hear only of offers that a message brings", []edit{{
		"exchange/channel/webhook/webhook.go", "g.Go(func() error { h.followPeople(gctx); return nil })", "",
	}}, "./exchange/channel/webhook TestOffersWithoutMessage"},
	{"a repeated notification has a new id", []edit{{
		"exchange/channel/webhook/resume.go", "[]string{about, event, executor, url}", "[]string{about, event, executor, url, time.Now().String()}",
	}}, "./exchange/channel/webhook TestRepeatHasSameID"},
	{"an executor's card shows its webhooks", []edit{{
		"exchange/channel/httpapi/executors.go", "return !slices.Contains(cardFields, f.Key) })", "return false })",
	}}, "./exchange/channel/httpapi TestExecutorHasCard"},
	{"acknowledged before it is synced", []edit{{
		"internal/wal/segment.go", "if err := s.put(body); err != nil {\n\t\treturn err\n\t}\n\treturn s.file.Sync()", "return s.put(body)",
	}}, "./cmd/messkit TestSyncPrecedesAck"},
	{"a permission outlives a suspend", []edit{{
		"agent/policy/timer_suspend.go", "return g.now().Sub(m.at) + max(0, g.suspended()-m.suspended)", "return g.now().Sub(m.at)",
	}}, "./agent/policy TestPermissionExpiresDuringSuspend"},
	{"max_on stands still while the machine sleeps", []edit{{
		"agent/policy/timer_suspend.go", "o.at, o.onSince = o.at.Add(-d), o.onSince.Add(-d)", "_ = o",
	}}, "./agent/policy TestMaxOnContinuesDuringSuspend"},
	{"the watchdog stands still while the machine sleeps", []edit{{
		"agent/watchdog/suspend.go", "t.due = t.due.Add(-d)", "t.due = t.due.Add(0)",
	}}, "./agent/watchdog TestSuspendCountsAsTimeOn"},
	{"a lease stands still while the machine sleeps", []edit{{
		"exchange/scheduler.go", "l.heard = l.heard.Add(-min(d, x.lease(e)))", "_ = l",
	}}, "./exchange TestLeaseEndsDuringSuspend"},
	{"MQTT results are lost when the clock is set back", []edit{{
		"exchange/inbox/store.go", "r.since = time.Time{}", "_ = r.since",
	}}, "./exchange/inbox TestUpgrade"},
	{"a requester that is behind counts as level", []edit{{
		"exchange/inbox/store.go", "low = r.due[0].before", "_ = r.due[0].before",
	}}, "./exchange/inbox TestDelayedRequesterGetsMissingMessages|TestKillAtEachWriteLosesNothing"},
	{"the common position is stored before those of requesters", []edit{{
		"exchange/inbox/store.go", "if err == nil && due {", "if due {",
	}}, "./exchange/inbox TestRequestersAreStoredFirst"},
	{"a folder that was not synced is trusted", []edit{{
		"exchange/store/files/folder_rewrite.go", "k.folder.rewrite = k.inLog()", "k.folder.rewrite = false",
	}}, "./exchange/store/files TestUnsyncedFolderIsRewritten"},
	{"the name of a new folder is not synced", []edit{{
		"internal/durable/durable.go", "for _, d := range slices.Backward(made) {", "for _, d := range slices.Backward(made[:0]) {",
	}}, "./internal/durable TestMkdirAll"},
	{"steps leave the folders behind", []edit{{
		"exchange/store/files/folder_lag.go", "now.Sub(p.queue[0].at) > maxLag || len(p.queue) > maxBehind", "false",
	}}, "./exchange/store/files TestStepsWait"},
	{"clean-up deletes an upload under way", []edit{{
		"exchange/store/files/store_blobs.go", "strings.HasPrefix(name, temporary) && !b.begun[name]", "strings.HasPrefix(name, temporary)",
	}}, "./exchange/store/files TestCleanUpKeepsRunningUploads"},
	{"a damaged last frame counts as torn", []edit{{
		"internal/wal/scan.go", "at < s.sealed {", "at < s.sealed && false {",
	}}, "./internal/wal TestDamagedLastFrameAfterClose"},
	{"a thread that lost its last steps is offered again", []edit{{
		"exchange/store/files/log_damage.go", "case how == unknown && !t.Status.Terminal():", "case how == unknown && false:",
	}}, "./exchange/store/files TestDamagedLastStepEndsAsUnknown"},
	{"torn records are believed", []edit{{
		"internal/wal/scan.go", "if checksum(salt, f.body) != binary", "if false && checksum(salt, f.body) != binary",
	}}, "./internal/wal Test"},

	{"a page of a camera's server counts as a picture", []edit{{
		"agent/imaging/imaging.go", "	case l.Page:\n", "	case l.Page && false:\n",
	}}, "./agent/imaging TestPageImageIsNoEvidence"},
	{"a picture that never changes counts as a new one", []edit{{
		"agent/imaging/imaging.go", "if s.maybeSynthetic && same {", "if s.maybeSynthetic && same && false {",
	}}, "./agent/imaging TestPageImageIsNoEvidence|TestHangingCameraIsNoEvidence"},
	// The channels.
	{"a broker that ends twice counts as another client", []edit{{
		"internal/broker/link.go", "if !kicked || seen == nobodyElse {", "if !kicked {",
	}}, "./internal/broker TestGracefulBrokerEndIsNoTakeover"},
	{"another client of the same id is not noticed", []edit{{
		"internal/broker/own.go", "		o.last = another\n", "",
	}}, "./internal/broker TestTakenOverSessionIsDetected|TestUnreadableStatusNeedsManyTakeovers"},
	{"reports wait although the exchange is back", []edit{{
		"agent/session/backoff.go", "	if yes && r.lost && r.back != nil {", "	if yes && r.lost && r.back != nil && false {",
	}}, "./agent TestReportFollowsFirstHeartbeat"},
	{"signature of a peer not checked", []edit{{
		"exchange/channel/mesh/inbound.go", "if in.signed = key.Verify(in.text); !in.signed {", "if in.signed = true; !in.signed {",
	}}, "./exchange/channel/mesh TestSignedAndEncrypted"},
	{"a peer speaks for another", []edit{{
		"exchange/channel/mesh/inbound.go", `if sender != "agent" && sender != e.From {`, `if false {`,
	}}, "./exchange/channel/mesh TestRefusals"},
	{"a peer gets its task again after a restart", []edit{{
		"exchange/channel/mesh/assignment.go", `if !g.Over.IsZero() || g.Ask != "" && as.requests.isKnown(g.Ask) {`, `if !g.Over.IsZero() {`,
	}}, "./exchange/channel/mesh TestAPeersTaskOverARestart"},
	{"a dead letter of a task outlives it", []edit{{
		"exchange/channel/mesh/assignment_relay.go", "if l, ok, err := as.store.Unbury(g.Ask, p.name); err != nil {\n\t\treturn false, err", "if l, ok, err := as.store.Unbury(g.Ask, \"\"); err != nil {\n\t\treturn false, err",
	}}, "./exchange/channel/mesh TestHowAPeersTaskEnds"},
	{"a message that expires between attempts is not reported", []edit{{
		"exchange/channel/mesh/outbox.go", "if out.Status == delivery.Expired && !o.Once {", "if out.Status == delivery.Expired && !o.Once && false {",
	}}, "./exchange/channel/mesh TestPeopleAreToldOfAMessageThatIsOver"},
	{"metadata of an encrypted response in clear", []edit{{
		"exchange/channel/mesh/task_response.go", "if !p.encrypts(a.Sealed) {", "if a.ID != \"\" {",
	}}, "./exchange/channel/mesh TestMetadataThroughARelayChain"},
	{"a difference from a document without a test", []edit{{
		"internal/pagetest/pagetest.go", "case !slices.Contains(tests, name):", "case false:",
	}}, "./internal/pagetest TestCompare"},
	{"any session in a reply context", []edit{{
		"exchange/channel/mesh/inbound_hooks.go", `if key != "" && !b.sessionAllowed(key) {`, `if key != "" && key == beside && !b.sessionAllowed(key) {`,
	}}, "./exchange/channel/mesh TestWhichSessionsPeersMayName"},
	{"a priority that MESH does not know", []edit{{
		"exchange/channel/mesh/wire/parse.go", "case e.Priority != High && e.Priority != Normal && e.Priority != Low:", "case false:",
	}}, "./exchange/channel/mesh TestRefusals"},
	{"a message of a peer again is not known", []edit{
		{"exchange/channel/mesh/inbound_dedup.go", "\t\t\treturn s.Of, true\n", "\t\t\tbreak\n"},
		{"exchange/channel/mesh/inbound.go", `in.Type == wire.Request && b.tasks.known(`, `in.Type == "requests" && b.tasks.known(`},
	}, "./exchange/channel/mesh TestRepetitions"},
	{"idempotency key of a peer ignored", []edit{{
		"exchange/channel/mesh/model.go", `if in.IdempotencyKey != "" {`, `if in.IdempotencyKey != "" && false {`,
	}}, "./exchange/channel/mesh TestRepetitions"},
	{"a second answer after a power cut", []edit{{
		"exchange/channel/mesh/task_queue.go", "if t == nil || t.Peer != w.Peer {", "if true {",
	}}, "./exchange/channel/mesh TestThePowerGoesAtEveryWrite"},
	{"files are fetched from anywhere", []edit{{
		"exchange/channel/mesh/delivery/peer.go", "return err == nil && guarded.In(ip, p.Allow)", "return err == nil && ip.IsValid()",
	}}, "./exchange/channel/mesh/delivery TestWhereAPeerIs"},
	{"answers go wherever a request says", []edit{{
		"exchange/channel/mesh/delivery/peer.go", "return err == nil && top.Scheme == base.Scheme && strings.EqualFold(top.Host, base.Host)", "return err == nil && top.Scheme == base.Scheme",
	}}, "./exchange/channel/mesh/delivery TestWhereAPeerIs"},
	{"a link leads out of a shared folder", []edit{{
		"exchange/channel/mesh/file_fetch.go", "f, err := durable.OpenIn(root, rel, os.O_RDONLY)", "_ = durable.Read; f, err := os.Open(filepath.Join(dir, rel))",
	}}, "./exchange/channel/mesh TestAttachments"},
	{"many try whether a peer is back", []edit{{
		"exchange/channel/mesh/state/breaker.go", "case b.probing || b.waits(s.now()):", "case b.waits(s.now()):",
	}}, "./exchange/channel/mesh/delivery TestBreaker"},
	{"criteria of a mail beside a context of MESS are dropped", []edit{{
		"exchange/channel/agentmail/format/request.go", "	list := t.ownCriteria(r)\n", "	list := t.ownCriteria(r)\n	if len(r.Context) > 0 {\n		list = nil\n	}\n",
	}}, "./exchange/channel/agentmail TestCriteriaWithMESSContext"},
	{"a mail that is slow to make is never sent", []edit{{
		"exchange/channel/agentmail/outbox.go", "	body, err := b.render(ctx, &e)", "	ctx, stop := context.WithTimeout(ctx, callTime)\n	defer stop()\n	body, err := b.render(ctx, &e)",
	}}, "./exchange/channel/agentmail TestSlowMachineSendsImages"},
	{"a task by mail that runs is silent", []edit{{
		"exchange/channel/agentmail/task_updates.go", "const silentTime = 10 * time.Minute", "const silentTime = 30 * time.Minute",
	}}, "./exchange/channel/agentmail TestDifferences"},
	{"a bad error report is answered", []edit{{
		"exchange/channel/agentmail/format/invalid.go", "if e.Type == TypeErrorReport {", "if false {",
	}}, "./exchange/channel/agentmail/format TestInvalidMessagesGetReports|TestDecisions"},
	{"a mail's sender is who its message says", []edit{{
		"exchange/channel/agentmail/format/parse.go", `if mail.From != "" && !strings.EqualFold(mail.From, m.SenderID) {`, `if false {`,
	}}, "./exchange/channel/agentmail/format TestWrongSenderIsRejected|TestDecisions"},
	{"secrets go out by mail", []edit{{
		"exchange/channel/agentmail/outbox_render.go", "return b.withoutSecrets(body), err", "return body, err",
	}}, "./exchange/channel/agentmail TestDecisions"},
	{"one executor's no ends a task by mail", []edit{{
		"exchange/channel/agentmail/task_end.go", "if s, ok := item.(*mess.Status); ok && s.Code.Terminal() {", "if s, ok := item.(*mess.Status); ok && s.Code.Terminal() && false {",
	}}, "./exchange/channel/agentmail TestTaskEndsOnce"},
	{"a dependency that has not come counts as done", []edit{{
		"exchange/open_threads.go", "\t\tl.deps[dep] = \"\"\n\t\tkey := waitKey(e.Requestor, dep)\n", "\t\tl.deps[dep] = \"\"\n\t\tkey := waitKey(e.Requestor, dep)\n\t\tif !isRef(dep) {\n\t\t\tl.deps[dep] = mess.Completed\n\t\t}\n",
	}}, "./exchange TestRequestWaitsForUnknownDependency"},
	{"data reach the result of a tool", []edit{
		{"exchange/channel/mcp/content.go", "v.Text = p.replaceData(v.Text)", "_ = p.replaceData(v.Text)"},
		{"exchange/channel/mcp/content.go", "return dataURI.ReplaceAllLiteralString(s, omittedData)", "return s"},
	}, "./exchange/channel/mcp TestInlineDataBecomeResources"},
	{"a question stands without its origin", []edit{{
		"exchange/channel/mcp/report.go", "addText(needs, originKey, questionOrigin(t, q))", "_ = questionOrigin",
	}}, "./exchange/channel/mcp TestTextOfOthersIsData"},
	{"the metadata of a picture reach a model", []edit{{
		"exchange/channel/mcp/resources.go", "if b, err = b.withoutMetadata(ctx); err != nil {", "if _, err = b.withoutMetadata(ctx); err != nil {",
	}}, "./exchange/channel/mcp TestResourcesHaveNoMetadata"},
	{"a refused revision is not remembered", []edit{{
		"exchange/channel/httpapi/mounted_handlers.go", "c.addDenied(w.status, why)", "_ = why",
	}}, "./exchange/channel/mcp TestRejectedRevisionIsExplained"},
	{"a plan is of the simulated home while another one runs", []edit{{
		"internal/cli/requests/plan.go", "case err == nil && runs.Plan != nil:", "case err != nil && runs.Plan != nil:",
	}}, "./cmd/messkit TestScripts/arm"},
	{"the devices are not read at the start", []edit{{
		"agent/device/first_reading.go", "s.readDevice(ctx, d)", "_ = d",
	}}, "./agent TestDevicesAreReadAtStart"},
	{"a sensor that sleeps is called broken", []edit{{
		"agent/device/selftest.go", "if errors.Is(err, drivers.ErrNoReadingYet) {", "if false {",
	}}, "./agent TestSleepingSensorIsNoFailure"},
	{"a lock on Zigbee is offered as a sensor", []edit{{
		"drivers/mqttdevice/announced.go", "return withoutTemplate[e.Type] != \"\"", "return false",
	}}, "./drivers/mqttdevice TestAnnounced"},
	{"hidden characters reach a model", []edit{{
		"exchange/channel/mcp/tools.go", "	cleanAll(v)\n", "",
	}}, "./exchange/channel/mcp TestInvisibleTextIsRemoved"},
	{"tags are not removed", []edit{{
		"internal/cleantext/cleantext.go", "unicode.Is(unicode.Cf, r) && !unicode.Is", "unicode.Is(unicode.Cf, r) && r < 0xe0000 && !unicode.Is",
	}}, "./internal/cleantext TestHiddenCharactersAreRemoved"},
	{"hidden characters go out as JSON", []edit{{
		"internal/cli/output/json.go", "e.To.Write(cleantext.EscapeJSON(p))", "e.To.Write(p)",
	}}, "./cmd/messkit TestScripts/hidden"},
	{"a wait returns at once while a question is open", []edit{{
		"exchange/channel/mcp/seen_questions.go", "return key != \"\" && !s.known[key]", "return key != \"\"",
	}}, "./exchange/channel/mcp TestWaitDoesNotRepeatSeenQuestion"},

	// Receipts, drivers and language.
	{"receipt without a hash of the report", []edit{{
		"mess/receipt/sign.go", "if r.Report, err = reportDigest(&c, re); err != nil {", "if _, err = reportDigest(&c, re); err != nil {",
	}}, "./mess/receipt Test"},
	{"receipt whose signature nobody checks", []edit{{
		"mess/receipt/check.go", "if !r.Authentic() {", "if false {",
	}}, "./mess/receipt Test"},
	{"device of effect once counts as a lamp", []edit{{
		"capabilities/resolve/plan.go", `own != "" && c.Effect != capabilities.Query`, "false",
	}}, "./capabilities/interpret TestConfiguredEffectWins"},
	{"a command without an answer ends as if it had one", []edit{{
		"drivers/web/web.go", "return drivers.MarkMayAct(why)", "return why",
	}}, "./drivers/web TestStalledCommandIsDropped"},
	{"a command that was given up goes on in the kernel", []edit{{
		"drivers/web/act.go", "drivers.DropUnsent(got.Conn, true)", "drivers.DropUnsent(got.Conn, false)",
	}}, "./drivers/web TestStalledCommandIsDropped"},
	{"a publish that was given up keeps its connection", []edit{{
		"drivers/mqttclient/session.go", "closeNow(s.conn)\n", "_ = closeNow\n",
	}}, "./drivers/mqttclient TestAbandonedMessageNeverArrives"},
	{"slow hosts take every worker", []edit{{
		"agent/poll/poll.go", "(!slow || s.slow < max(1, s.workers/2))", "true",
	}}, "./agent/poll TestSlowHosts"},
	{"a job of a host that does not answer is not broken off", []edit{{
		"agent/poll/poll.go", "		if !t.slow {\n", "		if false {\n",
	}}, "./agent/poll TestSlowHosts"},
	{"a state that nobody could read again counts for ever", []edit{{
		"agent/device/states.go", "if now.Sub(s.at) > old {", "if false {",
	}}, "./agent TestOldStates"},
	{"the kernel sends what was given up over MQTT", []edit{{
		"drivers/mqttclient/wire.go", "drivers.DropUnsent(conn, true)", "drivers.DropUnsent(conn, false)",
	}}, "./drivers/mqttclient TestAbandonedMessageNeverArrives"},
	{"a command that ended with the connection of another counts as not sent", []edit{{
		"drivers/mqttdevice/link.go", "return drivers.MarkMayAct(err)", "return err",
	}}, "./drivers/mqttdevice TestStalledPublishOfAnotherDevice"},
	{"what a broker retains for who comes late replaces what others heard", []edit{{
		"drivers/mqttclient/client.go", "if exact && p.Retain && !s.awaits {", "if false {",
	}}, "./drivers/mqttclient TestRetainedMessagesReachLateMember"},
	{"the end does not say that a command may still arrive", []edit{{
		"agent/task/execute.go", "(pass.Unanswered() || action.MayAct(r.Err))", "false",
	}}, "./agent TestUnansweredCommand|TestUnansweredCommandReadBackIsCompleted"},
	{"an act after the end is not reported", []edit{{
		"agent/task/tasks.go", "ts.watchLateActs(ctx, t)\n\t\t\t\treturn", "_ = ts.watchLateActs\n\t\t\t\treturn",
	}}, "./agent TestUnansweredCommand|TestUnansweredCommandReadBackIsCompleted"},
	{"an act of another request counts as a late one", []edit{{
		"agent/task/late_acts.go", "is.Acts == was.Acts && ", "",
	}}, "./agent TestUnansweredCommand|TestUnansweredCommandReadBackIsCompleted"},
	{"context names a request that is not there", []edit{{
		"exchange/context_refs.go", "case errors.Is(err, mess.NotFound):", "case errors.Is(err, mess.NotFound):\n\t\t\treturn s.req, nil\n\t\tcase false:",
	}}, "./exchange TestMentionedRequestIsShared"},
	{"left out words loosen a capability", []edit{{
		"capabilities/catalog/own_words.go", "one.Risk, one.Risks = capabilities.RiskIrreversible, nil", "_ = one.Risk",
	}}, "./capabilities/interpret TestLoadWordsLeavesOutFiles"},
	{"litter is passed over without a question", []edit{{
		"capabilities/interpret/unknown_names.go", `return x.AskConfirmation(*out.Plan, fmt.Sprintf("this home knows only rooms, and not where %q is: ", lexicon.Join(said))), true`, "return out, true",
	}}, "./capabilities/interpret TestExamplesOfSpecifications"},
	{"number of a name is an amount", []edit{{
		"capabilities/interpret/unknown_names.go", "if end == i || x.Tokens[i].Pause ||", "if true || end == i || x.Tokens[i].Pause ||",
	}}, "./capabilities/interpret TestNumberAfterNameBelongsToName"},
	{"what waits for events takes the places of requests", []edit{{
		"exchange/channel/httpapi/connections.go", "to = &c.all.waiting", "_ = c.all.waiting",
	}}, "./exchange/channel/httpapi TestWaitingConnectionsHaveOwnLimit"},
	{"one address takes all connections", []edit{{
		"exchange/channel/httpapi/connections.go", "case p.byNetwork[from] >= p.each:", "case false:",
	}}, "./exchange/channel/httpapi TestSlowClientsAreLimitedPerAddress"},
}
