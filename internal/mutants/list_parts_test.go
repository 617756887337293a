package mutants_test

// partMutants are the planted faults of receipts, drivers and language.
var partMutants = []mutant{
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
		"drivers/httpclient/httpclient.go", "return drivers.MarkMayAct(explained)", "return explained",
	}}, "./drivers/httpclient TestStalledCommandIsDropped"},
	{"a command that was given up goes on in the kernel", []edit{{
		"drivers/httpclient/act.go", "drivers.DropUnsent(got.Conn, true)", "drivers.DropUnsent(got.Conn, false)",
	}}, "./drivers/httpclient TestStalledCommandIsDropped"},
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
		"agent/device/states.go", "return now.Sub(s.at) > old }", "return false }",
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
		"exchange/attachments.go", "case errors.Is(err, mess.NotFound):", "case errors.Is(err, mess.NotFound):\n\t\t\treturn s.req, nil\n\t\tcase false:",
	}}, "./exchange TestMentionedRequestIsShared"},
	{"left out words loosen a capability", []edit{{
		"capabilities/catalog/own_words.go", "one.Risk, one.Risks = capabilities.RiskIrreversible, nil", "_ = one.Risk",
	}}, "./capabilities/interpret TestLoadWordsLeavesOutFiles"},
	{"litter is passed over without a question", []edit{{
		"capabilities/interpret/unknown_names.go", `return x.AskConfirmation(*out.Plan, fmt.Sprintf("this home knows only rooms, and not where %q is: ", lexicon.Join(leftOut))), true`, "return out, true",
	}}, "./capabilities/interpret TestExamplesOfSpecifications"},
	{"number of a name is an amount", []edit{{
		"capabilities/interpret/unknown_names.go", "if end == i || x.Tokens[i].Pause ||", "if true || end == i || x.Tokens[i].Pause ||",
	}}, "./capabilities/interpret TestNumberAfterNameBelongsToName"},
	{"what waits for events takes the places of requests", []edit{{
		"exchange/channel/httpapi/connection/listener.go", "to = &c.all.waiting", "_ = c.all.waiting",
	}}, "./exchange/channel/httpapi TestWaitingConnectionsHaveOwnLimit"},
	{"an idle stream keeps the stack of its request", []edit{{
		"exchange/channel/httpapi/stream.go", "go h.attend()", "h.attend()",
	}}, "./exchange/channel/httpapi TestIdleClientHasSmallStack"},
	{"a poll that waits keeps the stack of its request", []edit{{
		"exchange/channel/httpapi/stream.go", "go p.attend()", "p.attend()",
	}}, "./exchange/channel/httpapi TestIdleClientHasSmallStack"},
	{"the server forgets the first byte after a poll", []edit{{
		"exchange/channel/httpapi/connection/early_errors.go", "t.early = early", "_ = early",
	}}, "./exchange/channel/httpapi TestPollKeepsConnection"},
	{"a poll outlives its client", []edit{{
		"exchange/channel/httpapi/events.go", "context.AfterFunc(c.r.Context(), end)", "context.AfterFunc(context.Background(), end)",
	}}, "./exchange/channel/httpapi TestPollEndsWithRequest"},
	{"one address takes all connections", []edit{{
		"exchange/channel/httpapi/connection/counts.go", "case p.byNetwork[from] >= p.each:", "case false:",
	}}, "./exchange/channel/httpapi TestSlowClientsAreLimitedPerAddress"},
}
