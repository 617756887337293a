//go:build linux

package inside_test

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestMain also runs the bridge and other programs, in separate processes.
func TestMain(m *testing.M) {
	if ran, err := program(); ran {
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv("HIL_BRIDGE") != "" {
		if err := serveBridge(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if os.Getenv("HIL_HOLDER") != "" {
		hold()
	}
	if os.Getenv("HIL_GUEST") == "" {
		fmt.Println("ok: this runs in the machines of make hil")
		return
	}
	os.Exit(m.Run())
}

// console receives the host's answers.
var console = bufio.NewReader(os.Stdin)

// outside sends a command to the emulator's monitor, which observes the machine from outside.
func outside(t *testing.T, question string) string {
	t.Helper()
	fmt.Printf("\nHIL-ASK %s\n", question)
	answer, err := console.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(answer)
}

func serveBridge() error {
	b, err := Plug(bus())
	if err != nil {
		return err
	}
	go func() {
		if err := b.Run(); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	return b.Serve(os.Stdin, os.Stdout)
}
