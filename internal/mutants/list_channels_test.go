package mutants_test

// channelMutants are the planted faults of the channels.
var channelMutants = []mutant{
	{"an order of the home acts late", []edit{{
		"exchange/home/order.go", "mess.TimeOf(now.Add(within))", "mess.TimeOf(now.Add(100 * within))",
	}}, "./exchange/home TestOrder"},
	{"an order of the home is out of range", []edit{{
		"exchange/home/order.go", "if high != nil && n > *high {", "if high != nil && n > *high && false {",
	}}, "./exchange/channel/httpapi TestVerbRejectsWrongOrders"},
	{"the home shows requests of others", []edit{{
		"exchange/home/home.go", "t != nil && !actor.SeesAll() && t.Requester != actor.ID {", "t != nil && false {",
	}}, "./exchange/channel/httpapi TestHomeHidesRequestsOfOthers"},
	{"an idempotency key without effect", []edit{{
		"exchange/channel/httpapi/operations.go", "o.Request.ID = key", "o.Request.ID = key[:0]",
	}}, "./exchange/channel/httpapi TestVerbWithIdempotencyKey"},
	{"each report of a device counts as a change", []edit{{
		"exchange/registry/executor.go", "if e.states.Store(&states); !same {", "if e.states.Store(&states); !same || true {",
	}}, "./exchange/home TestIdleHomeIsNotBuilt"},
	{"a broker that ends twice counts as another client", []edit{{
		"internal/broker/link.go", "if !kicked || seen == noOtherClient {", "if !kicked {",
	}}, "./internal/broker TestGracefulBrokerEndIsNoTakeover"},
	{"another client of the same id is not noticed", []edit{{
		"internal/broker/own.go", "		o.last = another\n", "",
	}}, "./internal/broker TestTakenOverSessionIsDetected|TestUnreadableStatusNeedsManyTakeovers"},
	{"reports wait although the exchange is back", []edit{{
		"agent/session/backoff.go", "	if yes && r.lost && r.back != nil {", "	if yes && r.lost && r.back != nil && false {",
	}}, "./agent TestReportFollowsFirstHeartbeat"},
	{"signature of a peer not checked", []edit{{
		"exchange/channel/mesh/inbound.go", "if in.signed = key.Verify(in.text); !in.signed {", "if in.signed = true; !in.signed {",
	}}, "./exchange/channel/mesh TestSignatureAndEncryption"},
	{"a peer speaks for another", []edit{{
		"exchange/channel/mesh/inbound.go", `if sender != "agent" && sender != e.From {`, `if false {`,
	}}, "./exchange/channel/mesh TestInvalidMessageIsRejected"},
	{"a peer gets its task again after a restart", []edit{{
		"exchange/channel/mesh/assignment.go", `if !g.Over.IsZero() || g.Ask != "" && as.requests.isKnown(g.Ask) {`, `if !g.Over.IsZero() {`,
	}}, "./exchange/channel/mesh TestPeerTaskSurvivesRestart"},
	{"a dead letter of a task outlives it", []edit{{
		"exchange/channel/mesh/assignment_relay.go", "if l, ok, err := as.store.RemoveDeadLetter(g.Ask, p.Name); err != nil {\n\t\treturn false, err", "if l, ok, err := as.store.RemoveDeadLetter(g.Ask, \"\"); err != nil {\n\t\treturn false, err",
	}}, "./exchange/channel/mesh TestPeerStatusEndsTask"},
	{"a message that expires between attempts is not reported", []edit{{
		"exchange/channel/mesh/outbox.go", "if out.Status == delivery.Expired && !o.Once {", "if out.Status == delivery.Expired && !o.Once && false {",
	}}, "./exchange/channel/mesh TestPeopleAreNotifiedOfExpiredMessage"},
	{"metadata of an encrypted response in clear", []edit{{
		"exchange/channel/mesh/task_answer.go", "if !p.Encrypts(a.Sealed) {", "if a.ID != \"\" {",
	}}, "./exchange/channel/mesh TestMetadataPassesRelayChain"},
	{"a difference from a document without a test", []edit{{
		"internal/test/pagetest/pagetest.go", "case !slices.Contains(tests, name):", "case false:",
	}}, "./internal/test/pagetest TestCompare"},
	{"any session in a reply context", []edit{{
		"exchange/channel/mesh/inbound_hooks.go", `if key != "" && !b.sessionAllowed(key) {`, `if key != "" && key == beside && !b.sessionAllowed(key) {`,
	}}, "./exchange/channel/mesh TestSessionKeyNeedsConfiguredPrefix"},
	{"a priority that MESH does not know", []edit{{
		"exchange/channel/mesh/wire/parse.go", "case e.Priority != High && e.Priority != Normal && e.Priority != Low:", "case false:",
	}}, "./exchange/channel/mesh TestInvalidMessageIsRejected"},
	{"a message of a peer again is not known", []edit{
		{"exchange/channel/mesh/inbound.go", "\t\t\treturn s.Of, true\n", "\t\t\tbreak\n"},
		{"exchange/channel/mesh/inbound.go", `in.Type == wire.Request && b.tasks.known(`, `in.Type == "requests" && b.tasks.known(`},
	}, "./exchange/channel/mesh TestDuplicateMakesNoSecondTask"},
	{"idempotency key of a peer ignored", []edit{{
		"exchange/channel/mesh/shared.go", `if in.IdempotencyKey != "" {`, `if in.IdempotencyKey != "" && false {`,
	}}, "./exchange/channel/mesh TestDuplicateMakesNoSecondTask"},
	{"a second answer after a power cut", []edit{{
		"exchange/channel/mesh/task_queue.go", "if t == nil || t.Peer != w.Peer {", "if true {",
	}}, "./exchange/channel/mesh TestPowerCutAtEveryWrite"},
	{"files are fetched from anywhere", []edit{{
		"exchange/channel/mesh/delivery/peer.go", "return err == nil && safehttp.In(ip, p.Allow)", "return err == nil && ip.IsValid()",
	}}, "./exchange/channel/mesh/delivery TestPeerAddresses"},
	{"answers go wherever a request says", []edit{{
		"exchange/channel/mesh/delivery/peer.go", "return err == nil && top.Scheme == base.Scheme && strings.EqualFold(top.Host, base.Host)", "return err == nil && top.Scheme == base.Scheme",
	}}, "./exchange/channel/mesh/delivery TestPeerAddresses"},
	{"a link leads out of a shared folder", []edit{{
		"exchange/channel/mesh/files.go", "f, err := durable.OpenIn(root, rel, os.O_RDONLY)", "_ = durable.Read; f, err := os.Open(filepath.Join(dir, rel))",
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
		"exchange/channel/agentmail/task_updates.go", "if s, ok := item.(*mess.Status); ok && s.Code.Terminal() {", "if s, ok := item.(*mess.Status); ok && s.Code.Terminal() && false {",
	}}, "./exchange/channel/agentmail TestTaskEndsOnce"},
	{"a dependency that has not come counts as done", []edit{{
		"exchange/open_threads.go", "\t\tl.deps[dep] = \"\"\n\t\tkey := waitKey(e.Requester, dep)\n", "\t\tl.deps[dep] = \"\"\n\t\tkey := waitKey(e.Requester, dep)\n\t\tif !isRef(dep) {\n\t\t\tl.deps[dep] = mess.Completed\n\t\t}\n",
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
		"exchange/channel/httpapi/server.go", "c.addDenied(w.status, reason)", "_ = reason",
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
		"exchange/channel/mcp/tool_answer.go", "return key != \"\" && !s.known[key]", "return key != \"\"",
	}}, "./exchange/channel/mcp TestWaitDoesNotRepeatSeenQuestion"},
	{"over NATS a message needs no signature", []edit{{
		"internal/natslink/frame.go", "return hmac.Equal(data[:signature], append(hex.AppendEncode(nil, sign(secret, data[signature:])), ' '))", "return len(secret) > 0",
	}}, "./exchange/channel/natsapi TestForgedMessages"},
}
