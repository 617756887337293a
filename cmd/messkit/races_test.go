package main

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// countFromEnv returns the value of an environment variable for long runs, or the default.
func countFromEnv(t *testing.T, env string, otherwise int) int {
	t.Helper()
	s := os.Getenv(env)
	if s == "" {
		return otherwise
	}
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatalf("%s: %v", env, err)
	}
	return n
}

// Three executors race for every request, some requests are duplicates, and kills and freezes
// happen at any moment. Each request runs at most once, and none is lost.
func TestRacingExecutorsRunOnce(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes for some seconds")
	}
	n := countFromEnv(t, "MESSKIT_RACES", 60)
	f := newDeployment(t, buildMesskit(t), 3, 16, n)
	kills, freezes, begin := 0, 0, time.Now()
	f.runWithFaults(func() {
		if rand.IntN(2) == 0 {
			kills++
			f.killAgent()
		} else {
			freezes++
			f.freezeAgent()
		}
	}, math.MaxInt)
	v := f.judgeAll()
	t.Logf("%d executors killed and %d frozen in %v: %s", kills, freezes, time.Since(begin).Round(time.Second), v)
	if v.acts < n/3 {
		t.Error("too few acts for a result")
	}
}

// Kills of the exchange and of executors happen at any moment while valves switch. No command is
// duplicated, no request is lost, and all reports are true.
func TestKillDuringActIsReportedTruly(t *testing.T) {
	if testing.Short() {
		t.Skip("starts and kills processes for some seconds")
	}
	n := countFromEnv(t, "MESSKIT_KILLS_EXEC", 6)
	f := newDeployment(t, buildMesskit(t), 2, 10, math.MaxInt32)
	exchanges, begin := 0, time.Now()
	f.runWithFaults(func() {
		if rand.IntN(3) == 0 {
			exchanges++
			f.killExchange()
		} else {
			f.killAgent()
		}
	}, n)
	v := f.judgeAll()
	t.Logf("the exchange killed %d times and executors %d times in %v: %s", exchanges, n-exchanges, time.Since(begin).Round(time.Second), v)
	if v.acts < n/3 {
		t.Error("too few acts for a result")
	}
}
