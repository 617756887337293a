package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A lamp without a watchdog and with `safe: keep` is on for some seconds. After a kill or a
// shutdown in that time, the next run turns it off.
func TestPendingSwitchOffSurvivesKill(t *testing.T) {
	for how, end := range map[string]func(*lampRun){
		"killed":      (*lampRun).kill,
		"in order":    (*lampRun).interrupt,
		"by a signal": func(l *lampRun) { l.signal(syscall.SIGTERM); _ = l.cmd.Wait() },
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			l := newLampRun(t, "")
			for _, word := range []string{"on", "off"} {
				script := fmt.Sprintf("#!/bin/sh\necho $(date +%%Y-%%m-%%dT%%H:%%M:%%SZ) %s $$ >> %s\n", word, l.wire)
				if err := os.WriteFile(filepath.Join(l.dir, word), []byte(script), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			text := fmt.Sprintf("exchange: {data: %[1]s, listen: '127.0.0.1:0'}\nagent: {data: %[1]s, clock: trusted}\ndevices:\n  lamp: {driver: exec-switch, class: light, 'on': [%[1]s/on], 'off': [%[1]s/off], initial: keep, safe: keep}\n", l.dir)
			if err := os.WriteFile(l.config, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			for lasts := 3; ; lasts *= 3 { // until it outlives the program
				l.start()
				l.request(fmt.Sprintf("turn on the lamp for %d seconds", lasts))
				l.wire.waitForState(t, true)
				end(l)
				if list := l.wire.commands(t); list[len(list)-1].on {
					break
				}
			}
			l.start()
			l.wire.waitForState(t, false)
			l.interrupt()
		})
	}
}
