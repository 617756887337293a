// Package policy implements the safety policy between the agent and every driver call. It alone
// enforces limits, quiet hours, the longest time on, one task at a time, deadlines,
// confirmations and the stop; drivers enforce none of these.
//
// It knows plans and devices, but not threads. Package settings has what its configuration says.
//
// # Files
//
//   - rules_*.go reject plans. Policy.Check and Policy.Evaluate apply the rules to a plan,
//     Policy.Admit when a task takes its device, and finalCheck right before each act.
//   - pass_*.go carry out an admitted plan: a Pass has one method for each verb of a driver.
//   - timer_*.go switch devices off when their time is over, also after a restart.
//   - safe_*.go take devices to a safe level or a safe state.
//
// # When a device must be off
//
// Four facts about a device say whether something must still switch it off:
//
//   - device.pending, the pending switch-off: the device may be on, or moving, and Run must end
//     that. It has the time of the switch-off; a zero time means that the device may stay on.
//   - Policy.pendingOffs, the record of it in the ledger on the disk: the next run of the
//     program switches the device off if this one dies. It follows device.pending, and a record
//     of an earlier run stays until the device has confirmed that it is off.
//   - device.mayBeActive: the device has acted, and no later fact shows that it is inactive. The
//     agent asks for it at the end of the program.
//   - device.safeResult: what the last stop has reached.
//
// Pending switch-offs change as follows. Only a confirmation of the driver ends one:
//
//	off ── scheduleOff, before the call ──> pending at T ── Run at T ──> switching off
//	 ^                                       |       ^                     |       |
//	 |       the act failed: undo            |       |  driver reports an  |       |
//	 |<--------------------------------------+       |  error: T moves by  |       |
//	 |                                               |  1 s to 30 s        |       |
//	 |                                               +---------------------+       |
//	 |<------------- confirmOff: the driver has taken "off" -----------------------+
//
// A report of "off" by the device itself restarts max_on and keeps the switch-off, because a
// device may carry out an earlier command late. A new command replaces the pending switch-off;
// max_on still counts from the start of the period on.
//
// Two settings name what is safe. The safe level (safe: on, off or keep) applies to one device
// after a cancelled act (Pass.ReturnToSafeLevel; Run repeats it after Pass.EnforceSafeLevel) and
// at the end of the program (Policy.Halt). The safe state applies to all devices during a stop:
// Policy.Stop makes Run call the Halt of every driver and check the result (SafeResult) until
// the local operator resets the stop.
//
//	act begins ──> may be active ── a plan that leaves it inactive, a confirmed stop,
//	                    |           or Halt at the end of the program ──> inactive
//	                    +── a stop reaches the safe state ──────────────> inactive
package policy
