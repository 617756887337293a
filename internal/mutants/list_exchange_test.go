package mutants_test

// exchangeMutants are the planted faults of the exchange.
var exchangeMutants = []mutant{
	{"no fence", []edit{{
		"exchange/transition/claim.go", "t.Env.Holder() == t.Actor.ID && (epoch == 0 || epoch == t.Env.Epoch)", "t.Env.Holder() == t.Actor.ID || epoch == 1<<63",
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
		"exchange/registration.go", " && now.Sub(l.lastContact) <= x.lease(e)/2\n", "\n",
	}}, "./exchange TestHeartbeatsNameTheirProcess"},
	{"a copy is told what the living process holds", []edit{{
		"exchange/registration.go", "!reported[e.Ref] && !x.hasOtherProcess(l, e, c, now) {", "!reported[e.Ref] {",
	}}, "./exchange TestHeartbeatsNameTheirProcess|TestRestartedExecutorLosesClaims"},
	{"what another journal has begun is given back", []edit{{
		"agent/task/reconcile.go", `case h.Instance != "" && !ts.Journal.RunBy(h.Instance):`, "case false:",
	}}, "./agent TestStartOfDeadProcessIsReturned"},
	{"a begun thread that nobody knows is kept", []edit{{
		"agent/task/reconcile.go", "case !s.handled && sentAt.After(s.since):", "case false:",
	}}, "./agent TestStartOfDeadProcessIsReturned"},
	{"who is away is forgotten over who declined", []edit{{
		"exchange/thread_post.go", "if left := s.silentHolders(e); len(left) > 0 {", "if left := s.silentHolders(e); len(left) > 0 && false {",
	}}, "./exchange TestSilentExecutorFailsThread"},
	{"a start after everything was stopped", []edit{{
		"exchange/transition/start.go", `s.StoppedBy(*e, executor); reason != "" {`, `s.StoppedBy(*e, executor); reason != "" && false {`,
	}}, "./exchange TestStopOfEverythingPreventsStart"},
	{"a start in spite of a stop during its write", []edit{{
		"exchange/thread_post.go", "x.checkStarted(ctx, &in, &env, &step.Envelope)", "nil",
	}}, "./exchange TestStopDuringWriteOfStart"},
	{"an exchange refuses a message by its own copy of a thread, which is old", []edit{{
		"exchange/thread_post.go", "if (err != nil || t.Repeat) && x.docs.IsShared()", "if t.Repeat && x.docs.IsShared()",
	}}, "./exchange TestLateExchangeJudgesNewestState"},
	{"a refused start without an instance is permitted when it is sent again", []edit{{
		"exchange/transition/start.go", `s.Instance != "" || e.Instance == ""`, `s.Instance != ""`,
	}}, "./exchange TestStopDuringWriteOfStart"},
	{"a node sends a step again to a client of another node", []edit{{
		"exchange/eventbus/position.go", "if k.step == nil || s.pos == 0 && s.had == nil {", "if true {",
	}}, "./exchange/eventbus TestClientMovesAmongBuses"},
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
		"exchange/scheduler.go", "least = min(least, q.before(l))", "least = max(least%len(x.open.byRef), q.before(l))",
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
	{"a later receipt key replaces the first", []edit{{
		"exchange/keys/pins.go", "if _, ok := next[executor]; !ok {", "if _, ok := next[executor]; !ok || ok {",
	}}, "./exchange/keys TestConcurrentPinsShareWrite"},
	{"who resumes gets the events of others", []edit{{
		"exchange/eventbus/bus.go", "if k.isFor(s) && !s.has(&k) {", "if !s.has(&k) {",
	}}, "./exchange/eventbus TestResume"},
	{"a list by capability leaves out threads of an earlier release", []edit{{
		"exchange/query.go", `mayHaveEnded(f.Status) && !x.waitForSubjects(ctx)`, `false && !x.waitForSubjects(ctx)`,
	}}, "./exchange TestListByCapabilityWaitsForEarlierThreads"},
	{"a list has threads without the capability", []edit{{
		"exchange/index/page.go", `q.Capability != "" && !required.has(at)`, `false && !required.has(at)`,
	}}, "./exchange/index TestIndexMatchesModel"},
	{"a list has threads of another device", []edit{{
		"exchange/index/page.go", `q.Device != "" && !used.has(at)`, `false && !used.has(at)`,
	}}, "./exchange/index TestIndexMatchesModel"},
	{"an ended thread keeps its alarm", []edit{{
		"exchange/open_threads.go", "\to.due.Drop(e.Ref)\n", "",
	}}, "./exchange TestEndedThreadsNeedNoState"},
	{"a rejected message makes some of its threads", []edit{{
		"exchange/create.go", "if len(reqs) < 2 {", "if len(reqs) < 9 {",
	}}, "./exchange TestRequestsOfOneMessageAreTakenTogether"},
	{"a follower of the feed misses removals", []edit{{
		"exchange/store/tail/tail.go", "last, gone := t.removedAfter(after)", "last, gone := t.removedAfter(1 << 63)",
	}}, "./exchange/store/tail TestFollowerBehindGetsRemovals"},
	{"a claim loses its deadline", []edit{{
		"exchange/scheduler.go", "\t\tx.open.wake(l, now.Add(checkAgain))\n", "",
	}}, "./exchange TestLateHeartbeatKeepsDeadline"},
	{"a refused report is given up", []edit{{
		"agent/task/outbox.go", "if err != nil && ts.retryAsUnknown(ctx, task, err) {", "if err != nil && false && ts.retryAsUnknown(ctx, task, err) {",
	}}, "./agent TestRejectedReportIsNoUnusedStart"},
	{"a thread is found before it is indexed", []edit{{
		"exchange/open_threads.go", "\to.loading[ref] = c\n", "",
	}}, "./exchange TestMessageBeforeAckIsKept"},
	{"one message ends the MQTT channel", []edit{{
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
		"exchange/confirmation.go", "\t\tdelete(c.of, question)\n\t\treturn func() { c.restore(question, one) }, true", "\t\treturn func() { c.restore(question, one) }, true",
	}}, "./exchange TestCodeReleasesOnce"},
	{"a pipe releases a stop", []edit{{
		"internal/cli/safety/person.go", "if a.HasTerminal() && peer.Typed() == nil {", "if true || a.HasTerminal() && peer.Typed() == nil {",
	}}, "./cmd/messkit TestProgramWithoutTerminalReleasesNothing"},
	{"a key alone releases a stop", []edit{{
		"exchange/confirmation.go", "if err := by.CheckRelease(p); err != nil {", "if err := by.CheckRelease(p); err != nil && false {",
	}}, "./exchange TestReleaseNeedsProofOfPerson"},
	{"a second system shares the executor's folder", []edit{{
		"internal/config/check_folders.go", `if was == "" || was == at {`, `if was == "" || was != "" {`,
	}}, "./cmd/messkit TestScripts/second"},
	{"without its folder of words an act needs no confirmation", []edit{{
		"capabilities/catalog/own_words.go", "Asking: c.strict(func(string) bool { return true })", "Asking: c.strict(func(string) bool { return false })",
	}}, "./cmd/messkit TestScripts/words"},
	{"who confirms does not read who switches off", []edit{{
		"agent/task/dialogue.go", "for _, e := range t.decision.SwitchOffs {", "for _, e := range t.decision.SwitchOffs[:0] {",
	}}, "./agent TestAnswerNamesWhatSwitchesOff"},
	{"the thread keeps the code", []edit{{
		"exchange/confirmation.go", "code, c.Code = c.Code, \"\"", "code = c.Code",
	}}, "./exchange TestCodeConfirmsOneQuestionOnce"},
	{"a page that a program signed in confirms", []edit{{
		"exchange/channel/console/sessions.go", "return ok && s.Person", "return ok || s.Person",
	}}, "./cmd/messkit TestProgramWithoutTerminalConfirmsNothing"},
	{"an operator's key is made without a terminal", []edit{{
		"exchange/channel/httpapi/auth.go", "if p := c.proof(); p == exchange.AtTerminal {", "if true {",
	}}, "./cmd/messkit TestProgramWithoutTerminalConfirmsNothing"},
	{"a closed connection is root's", []edit{
		{"internal/peer/peer_linux.go", "|| fields[fieldState] != established {", "|| established == \"\" {"},
		{"internal/peer/peer_linux.go", "|| inode == 0 {", "|| inode == 1<<63 {"},
	}, "./internal/peer TestPeerIsRead"},
	{"another user of the machine registers", []edit{{
		"exchange/channel/httpapi/auth.go", "return peer.Same(c.localAddr(), c.r.RemoteAddr)", "return loopback(c.r.RemoteAddr), nil",
	}}, "./exchange/channel/httpapi TestOtherLocalUserNeedsCode"},
	{"another user of the machine at the broker", []edit{{
		"exchange/channel/mqtt/embedded_hooks.go", "return peer.Same(cl.Net.Conn.LocalAddr().String(), cl.Net.Conn.RemoteAddr().String())", "_, err := peer.Same(cl.Net.Conn.LocalAddr().String(), cl.Net.Conn.RemoteAddr().String())\n\treturn true, err",
	}}, "./exchange/channel/mqtt TestOtherLocalUserNeedsKey"},
	{"an executor registers more than its code grants", []edit{{
		"exchange/registration.go", "if !slices.Contains(all, one.ID) {", "if !slices.Contains(all, one.ID) && false {",
	}}, "./exchange/channel/httpapi TestCodeListsItsRights"},
	{"a stranger's question is read", []edit{{
		"agent/selftest/selftest.go", "if err := localrpc.Allowed(conn); err != nil { // it reads nothing from other users", "if err := localrpc.Allowed(conn); err != nil && false {",
	}}, "./agent/selftest TestOtherUserIsRejected"},
	{"what is behind chunks is a request", []edit{{
		"exchange/channel/httpapi/call.go", "if len(r.TransferEncoding) > 0 {", "if len(r.TransferEncoding) > 9 {",
	}}, "./exchange/channel/httpapi TestLengthAndChunksEndConnection"},
	{"a page of somebody else registers", []edit{{
		"exchange/channel/httpapi/auth.go", "return origin != \"\" && origin != \"http://\"+c.r.Host && origin != \"https://\"+c.r.Host", "return false && origin != \"\"",
	}}, "./exchange/channel/httpapi TestForeignPageCannotRegister"},
	{"lease ignored", []edit{{
		"exchange/scheduler.go", "at(l.lastContact.Add(x.lease(*e)))", "at(l.lastContact.Add(x.lease(*e) + 1000*time.Hour))",
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
		{"exchange/thread_post.go", "\tif isExpired(&env, s.now) {\n", "\tif false {\n"},
		{"exchange/scheduler.go", "case e.Phase == NotStarted && isExpired(&e, now):\n\t\treturn transition.Expire(now)", "case false:\n\t\treturn transition.Expire(now)"},
	}, "./exchange TestTimesOfARequest|TestRepeatedClaimKeepsQuestion"},
	{"what it depends on is not waited for", []edit{{
		"exchange/offers.go", "if code != mess.Completed {", "if code == mess.Failed {",
	}}, "./exchange TestSeveralRequestsInOneMessage|TestDependencyEndedBeforeRestart|TestFailedDependencyEndsDependents"},
	{"cancel of begun work told at once", []edit{{
		"exchange/transition/reply.go", "if t.Env.Phase == thread.Started {", "if false {",
	}}, "./exchange TestCancelBeforeAndAfterStart"},
	{"late report wins", []edit{{
		"exchange/transition/claim.go", "case t.Env.HasHeld(t.Actor.ID) && s.Code.Terminal():\n\t\tt.Evidence = true\n\t\treturn false, nil", "case t.Env.HasHeld(t.Actor.ID) && s.Code.Terminal():\n\t\treturn true, nil",
	}}, "./exchange Test"},
	{"the same message taken twice", []edit{{
		"exchange/transition/transition.go", "if ref, ok := e.Processed(in.Actor.ID, in.Message.ID); ok {", "if ref, ok := e.Processed(in.Actor.ID, in.Message.ID); ok && false {",
	}}, "./exchange TestDuplicateMessageIsStoredOnce"},
	{"duplicate client id makes a new thread", []edit{{
		"exchange/create.go", "if t.ClientID != \"\" {", "if false {",
	}}, "./exchange TestDuplicateRequestHasOneThread"},
	{"a step with an unknown outcome counts as another's", []edit{{
		"exchange/storage.go", "case readErr == nil && t.Op == s.Envelope.Op:", "case false:",
	}}, "./exchange TestUnknownStoreOutcome"},
	{"a ref is given twice", []edit{{
		"exchange/store/files/store_feed.go", `case step.After == "" && (ok || !s.isFree(ref)):`, "case false:",
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
		"exchange/store/files/logformat/format.go", "if n <= Format {", "if n > 0 {",
	}}, "./exchange/store/files TestDowngradeIsRejected"},
	{"what has begun is handed on", []edit{{
		"exchange/transition/suggestion.go", "if t.Env.Phase != thread.NotStarted {\n\t\treturn mess.Errorf(mess.IllegalTransition, \"it has begun, so a", "if false {\n\t\treturn mess.Errorf(mess.IllegalTransition, \"it has begun, so a",
	}}, "./exchange TestUnusableSuggestionChangesNothing"},
	{"who gives up a request by a suggestion may still begin it", []edit{{
		"exchange/transition/suggestion.go", "\tt.release(reason)\n", "",
	}}, "./exchange TestAcceptedDelegationMovesThread"},
	{"a long text that is no content is let in", []edit{{
		"mess/short.go", "if strictyaml.Apart([]byte(n.Text)) > LongText {\n\t\t\td.fail", "if false {\n\t\t\td.fail",
	}}, "./mess TestLongTexts"},
	{"a default rule comes before the others", []edit{{
		"exchange/routing/table.go", "n.rules = append(n.rules, mess.Rule{Prefer: r.Default.Prefer})", "n.rules = append([]mess.Rule{{Prefer: r.Default.Prefer}}, n.rules...)",
	}}, "./exchange TestMESSEAFRouting"},
	{"an upload is not made smaller", []edit{{
		"exchange/channel/httpapi/attachments.go", "if f.size != \"\" {", "if false {",
	}}, "./exchange/channel/httpapi TestImageFitsOnRequest"},
	{"offers come by age alone", []edit{{
		"exchange/scheduler.go", "q.rank-p.rank,", "0,",
	}}, "./exchange TestOffersAreOrdered"},
	{"a filter does not know received", []edit{{
		"exchange/query.go", "if c == mess.Received {", "if c == mess.Received && false {",
	}}, "./exchange TestFilterAcceptsReceivedAndPending"},
	{"large data stay in a message until its folder is written", []edit{{
		"exchange/thread/files.go", "if !ok || len(data) <= most {", "if true {",
	}}, "./exchange/channel/httpapi TestUploadedImageHasOneForm"},
	{"a restart forgets where the webhooks were", []edit{{
		"exchange/channel/webhook/resume.go", "doc := h.x.ChannelState(channel)[positionName]; doc != nil {", "doc := h.x.ChannelState(channel)[positionName]; doc != nil && false {",
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
		"agent/policy/timer_watchdog.go", "return g.now().Sub(m.at) + max(0, g.suspended()-m.suspended)", "return g.now().Sub(m.at)",
	}}, "./agent/policy TestPermissionExpiresDuringSuspend"},
	{"max_on stands still while the machine sleeps", []edit{{
		"agent/policy/timer_watchdog.go", "o.at, o.onSince = o.at.Add(-d), o.onSince.Add(-d)", "_ = o",
	}}, "./agent/policy TestMaxOnContinuesDuringSuspend"},
	{"the watchdog stands still while the machine sleeps", []edit{{
		"agent/watchdog/suspend.go", "t.due = t.due.Add(-d)", "t.due = t.due.Add(0)",
	}}, "./agent/watchdog TestSuspendCountsAsTimeOn"},
	{"an own step that the feed has delivered is published again", []edit{{
		"exchange/feed.go", "case !x.threads.Knows(e.Ref, e.Ver):\n", "default:\n",
	}}, "./exchange TestOwnStepsInTheFeedArePublishedOnce"},
	{"an own step is published before earlier steps of another process", []edit{{
		"exchange/feed.go", "\t\ta.read = max(a.read, e.Ver)\n\t\tx.setStep(l, s)\n", "\t\ta.read = max(a.read, e.Ver)\n\t\tx.setStep(l, s)\n\t\tx.publishStep(s)\n",
	}}, "./exchange TestOwnStepWaitsForEarlierSteps|TestStepsOfTwoProcessesComeOnceInOrder"},
	{"steps that the exchange has read early are not published", []edit{{
		"exchange/feed.go", "\t\tx.open.ahead[e.Ref] = a\n", "",
	}}, "./exchange TestOwnStepWaitsForEarlierSteps"},
	{"messages of later steps are published with an earlier one", []edit{{
		"exchange/feed.go", "t.Messages[from:max(from, after(step.Serial))]", "t.Messages[from:]",
	}}, "./exchange TestStepsOfTwoProcessesComeOnceInOrder"},
	{"a rejected message of another process is published", []edit{{
		"exchange/subscribe.go", "messeaf.IsAck(m) || isRejected(s.Messages[i:])", "messeaf.IsAck(m) || isRejected(s.Messages[i:]) && false",
	}}, "./exchange TestRejectedMessageIsNotPublished"},
	{"a dependency that cannot be read is forgotten", []edit{{
		"exchange/storage.go", "x.open.due.Set(retryKey+ref, x.now().Add(pause.Next()))", "_ = pause.Next()",
	}}, "./exchange TestUnreadableDependencyIsReadLater"},
	{"a lease stands still while the machine sleeps", []edit{{
		"exchange/scheduler.go", "l.lastContact = l.lastContact.Add(-min(d, x.lease(e)))", "_ = l",
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
	{"a command does not wait for the folder of a thread", []edit{{
		"internal/cli/thread/unwritten.go", "for wait.For(ctx, folderPoll) {", "for wait.For(ctx, folderPoll) && false {",
	}}, "./internal/cli/thread TestCommandsWaitForTheFolder"},
	{"a folder that was not synced is trusted", []edit{{
		"exchange/store/files/folder_projector.go", "k.folder.rewrite = k.inLog()", "k.folder.rewrite = false",
	}}, "./exchange/store/files TestUnsyncedFolderIsRewritten"},
	{"the name of a new folder is not synced", []edit{{
		"internal/durable/durable.go", "for _, d := range slices.Backward(made) {", "for _, d := range slices.Backward(made[:0]) {",
	}}, "./internal/durable TestMkdirAll"},
	{"steps leave the folders behind", []edit{{
		"exchange/store/files/folder_queue.go", "now.Sub(queue[0].at) > maxLag", "false && now.Sub(queue[0].at) > maxLag",
	}}, "./exchange/store/files TestStepsWait"},
	{"steps of claimed threads wait for the folders", []edit{{
		"exchange/store/files/folder_queue.go", "!isNew && !p.pressure.all", "false",
	}}, "./exchange/store/files TestStepsWait"},
	{"all new threads wait for late folders", []edit{{
		"exchange/store/files/folder_queue.go", "p.pressure.waiting >= maxWaiting", "false",
	}}, "./exchange/store/files TestManyNewThreadsAreRefused"},
	{"each step of a short thread is written", []edit{{
		"exchange/store/files/folder_queue.go", "return &p.open, openGather", "return &p.open, gatherTime",
	}}, "./exchange/store/files TestEndedThreadsGoFirst"},
	{"a part of an archive is written before its period is over", []edit{{
		"exchange/store/files/archive.go", "all := past && archive.PeriodEnd(name).Before(t)", "all := past || archive.PeriodEnd(name).Before(t)",
	}}, "./exchange/store/files TestArchivesOfPastPeriods"},
	{"clean-up deletes an upload under way", []edit{{
		"exchange/store/files/blobs/clean.go", "strings.HasPrefix(name, temporary) && !b.begun[name]", "strings.HasPrefix(name, temporary)",
	}}, "./exchange/store/files/blobs TestCleanUpKeepsRunningUploads"},
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
		"agent/imaging/imaging.go", "	case s.Page:\n", "	case s.Page && false:\n",
	}}, "./agent/imaging TestPageImageIsNoEvidence"},
	{"a picture that never changes counts as a new one", []edit{{
		"agent/imaging/imaging.go", "if s.maybeSynthetic && same {", "if s.maybeSynthetic && same && false {",
	}}, "./agent/imaging TestPageImageIsNoEvidence|TestHangingCameraIsNoEvidence"},
}
