package gpiorelay_test

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/drivers/gpiorelay"
	"github.com/messkit/messkit/internal/board"
	"github.com/messkit/messkit/internal/board/boardtest"
)

// Find lists the free lines of a Pi, and neither requests nor changes a line.
func TestFind(t *testing.T) {
	chips := boardtest.Pi()
	held, err := chips.Request("gpiochip0", 17, board.Request{Label: "somebody", Start: board.Off})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	got := gpiorelay.Find(chips)
	if len(got) != 2 || got[0].Config != nil || !strings.HasPrefix(got[0].Where, "gpiochip0 (pinctrl-bcm2711): 58 lines; free, ") ||
		!strings.Contains(got[0].Where, " GPIO16 GPIO18 ") || got[1].Where != "gpiochip1 (raspberrypi-exp-gpio): 8 lines" {
		t.Errorf("%+v", got)
	}
}
