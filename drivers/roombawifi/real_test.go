package roombawifi_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"testing"
)

// TestSimulatedRobot tests the simulated robot with an independent client: npm's
// dorita980.
func TestSimulatedRobot(t *testing.T) {
	if testing.Short() {
		t.Skip("another program takes seconds")
	}
	if _, err := os.Stat("testdata/client/node_modules/dorita980"); err != nil {
		t.Skip("SKIP: npm's dorita980 is not there (scripts/npm.sh drivers/roombawifi/testdata/client)")
	}
	r := newRobot(t, true)
	r.set(func(r *robot) { r.steps = 1 << 30 }) // it stays in each phase until the next command
	c := exec.CommandContext(t.Context(), "node", "client.mjs", r.host, strconv.Itoa(r.port), blid, password)
	c.Dir = "testdata/client"
	out, err := c.Output()
	var got struct {
		Phase   string
		Bin     struct{ Present bool }
		Battery int
		States  []string
		Error   string
	}
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	if err != nil || got.Error != "" || got.Phase != "charge" || !got.Bin.Present || got.Battery != 87 {
		t.Fatalf("%v: %s", err, out)
	}
	if want := []string{"clean run", "clean stop", "clean run", "none stop", "clean run", "clean stop", "dock hmUsrDock"}; !slices.Equal(got.States, want) {
		t.Errorf("states at that client: %q, want %q", got.States, want)
	}
	// The same commands as in TestCleansRoomsByName.
	if want := []string{"start", "pause", "resume", "stop", "start map1/220101T/3/rid", "pause", "dock"}; !slices.Equal(r.log(), want) {
		t.Errorf("commands of that client: %q, want %q", r.log(), want)
	}
}
