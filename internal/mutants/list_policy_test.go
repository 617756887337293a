package mutants_test

// policyMutants are the planted faults of the safety policy.
var policyMutants = []mutant{
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
		"agent/policy/rules_conditions.go", "case on:\n", "case on && false:\n",
	}}, "./agent/policy TestInterlock"},
	{"interlock ignored for two at once", []edit{{
		"agent/policy/rules_conditions.go", "if other.active {", "if other.active && false {",
	}}, "./agent/policy TestInterlock"},
	{"arming ignored", []edit{{
		"agent/policy/rules_conditions.go", `if class == "" || g.decisions.ArmedDevices[d.name] {`, `if true || class == "" {`,
	}}, "./agent/policy TestLockoutAndDisarming"},
	{"a crash disarms nothing", []edit{{
		"agent/localpolicy/decisions.go", "for _, c := range classes {", "for _, c := range classes[:0] {",
	}}, "./agent/localpolicy TestUncleanShutdownDisarms"},
	{"lock ignored", []edit{{
		"agent/policy/rules_conditions.go", `case locked && reason != "":`, `case !locked || reason != "":`,
	}}, "./agent/policy TestLockoutAndDisarming"},
	{"yes of one plan for another at the device", []edit{{
		"agent/policy/rules.go", "by == settings.ConfirmNever || o.Confirmed == o.Digest()", `by == settings.ConfirmNever || o.Confirmed != ""`,
	}}, "./agent/policy TestConfirmationIsForOnePlan"},
	{"parameters beyond their bounds", []edit{{
		"agent/policy/rules.go", `if reason := b.Outside(value, given); reason != "" {`, `if reason := b.Outside(value, given); reason != "" && false {`,
	}}, "./agent/policy TestRange|TestDefaultRangeAppliesToAll"},
	{"conditions ignored", []edit{{
		"agent/policy/rules_conditions.go", `case got != "":`, `case false:`,
	}}, "./agent/policy TestRequires"},
	{"what is not known is allowed", []edit{{
		"agent/policy/rules_conditions.go", "case err != nil:\n\t\treturn no(", "case err != nil:\n\t\treturn nil\n\tcase false:\n\t\treturn no(",
	}}, "./agent/policy TestRequires"},
	{"old permission used", []edit{
		{"agent/policy/pass_driver_call.go", "p.renew == nil || p.g.since(p.permissionAsked) <= FreshFor", "true"},
		{"agent/policy/pass_driver_call.go", "p.g.since(looked) > FreshFor || p.renew != nil && p.g.since(p.permissionAsked) > FreshFor", "p.g.since(looked) > FreshFor"},
	}, "./agent/policy TestPermissionExpiresBetweenActs|TestLatePermissionIsRejected|TestPermissionExpiresDuringSuspend"},
	{"a hanging driver goes on being used", []edit{{
		"agent/policy/pass_driver_call.go", "c.dev.hungCalls[c] = true\n", "",
	}}, "./agent/policy TestHangingDriverIsQuarantined"},
	{"two tasks on one device", []edit{{
		"agent/policy/policy.go", "turn: make(chan struct{}, 1), actLock", "turn: make(chan struct{}, 2), actLock",
	}}, "./agent/policy TestOneTaskPerDevice"},
	{"budget of acts ignored", []edit{{
		"agent/policy/pass_driver_call.go", "p.recordIfNeeded(ctx); err != nil {", "p.recordIfNeeded(ctx); err != nil && false {",
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
	{"a silent driver delays the next stop", []edit{{
		"agent/policy/safe_stop.go", "\t\t\tend() // without a wait", "\t\t\tend()\n\t\t\t_ = keepers.Wait() // without a wait",
	}}, "./agent/policy TestSilentDriverDelaysNoLaterStop"},
	{"an act that begins during a stop waits", []edit{{
		"agent/policy/pass_driver_call.go", "if g.stopReason != \"\" {\n\t\tcancel(g.stopRejection())", "if false {\n\t\tcancel(g.stopRejection())",
	}}, "./agent/policy TestActDuringStopDoesNotWait"},
	{"a cancelled act commands a device during a stop", []edit{{
		"agent/policy/safe_lifecycle.go", "no := p.g.notStopped(p.dev, p.order.Plan)", "no := error(nil)",
	}}, "./agent/policy TestNoReturnToSafeLevelDuringStop"},
	{"a device continues alone during a stop", []edit{{
		"agent/policy/safe_lifecycle.go", `ok && g.Stopped() == "" {`, "ok {",
	}}, "./agent/policy TestNoDeviceContinuesDuringStop"},

	{"an earlier picture counts as a new one", []edit{{
		"agent/action/observe.go", "Evidence: mess.EvidenceUnknown", "Evidence: mess.Photographed",
	}}, "./agent TestEarlierImageKeepsItsTime"},
	{"a refusal calls legal what is refused", []edit{{
		"exchange/transition/claim.go", "\t\t\treturn t.checkConfirmed() != nil\n", "\t\t\treturn false\n",
	}}, "./exchange TestAllowedCodesAreAccepted"},
	{"a picture of any thread is given again", []edit{{
		"exchange/attachments.go", `return e.Type == "ref" && e.Extra.Text("thread") == ref`, `return e.Type != "" || ref != ""`,
	}, {
		"exchange/attachments.go", "if !slices.ContainsFunc(own", "if len(own.Request().Context) > 0 && !slices.ContainsFunc(own",
	}}, "./exchange TestEarlierImageIsReused"},
	{"a channel misses what is said before it follows", []edit{{
		"exchange/inbox/follow.go", "	pos := x.Position()\n	begin()\n", "	begin()\n	pos := x.Position()\n",
	}}, "./exchange/inbox TestFollow"},
	{"a request beside a stop overtakes what waits", []edit{{
		"exchange/remote/mailbox/answer.go", "m.Items = orders\n", "m.Items = append(orders, m.Items...)\n",
	}}, "./exchange/remote/mqttclient TestOnlyOrdersOvertake"},
}
