//go:build linux

package inside_test

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// Serve lets a test in another process query and change the bridge. Each line of in is a command,
// and each line of out is its answer, as numbers or as "error" with a text.
//
//	gpio             returns output bits, levels, and number of writes
//	drove            returns each combination of output levels so far, as bits
//	writes           returns the number of writes to chips
//	drive LINE 0|1   sets the level of a line from outside
//	reg CHIP REG     returns a register of a chip with registers
//	poke CHIP REG V  sets it
//	say CHIP WORDS   sends words to a chip that is a Listener
func (b *Bridge) Serve(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		answer, err := b.answer(lines.Text())
		if err != nil {
			answer = "error " + err.Error()
		}
		if _, err := fmt.Fprintln(out, answer); err != nil {
			return err
		}
	}
	return lines.Err()
}

// Listener is a chip that a test can control.
type Listener interface {
	Hear(words string) error
}

// registers is a chip with registers.
type registers interface {
	Register(n byte) byte
	SetRegister(n, value byte)
}

func (b *Bridge) answer(line string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "gpio":
		return fmt.Sprint(b.output, b.level, b.writes), nil
	case "drove":
		var all []int
		for levels, were := range b.drove {
			if were {
				all = append(all, levels)
			}
		}
		return strings.Trim(fmt.Sprint(all), "[]"), nil
	case "writes":
		return fmt.Sprint(b.sent), nil
	case "drive":
		var n, level int
		if _, err := fmt.Sscan(rest, &n, &level); err != nil {
			return "", err
		}
		b.level = b.level&^(1<<n) | byte(level)<<n
		return "0", nil
	case "reg", "poke":
		return b.register(verb, rest)
	case "say":
		var address byte
		if _, err := fmt.Sscan(rest, &address); err != nil {
			return "", err
		}
		chip, ok := b.chips[address].(Listener)
		if !ok {
			return "", fmt.Errorf("chip %d hears nothing", address)
		}
		_, words, _ := strings.Cut(rest, " ")
		return "0", chip.Hear(words)
	}
	return "", fmt.Errorf("%q is unknown", verb)
}

func (b *Bridge) register(verb, rest string) (string, error) {
	var address, reg, value byte
	n, err := fmt.Sscan(rest, &address, &reg, &value)
	chip, ok := b.chips[address].(registers)
	switch {
	case !ok:
		return "", fmt.Errorf("chip %d has no registers", address)
	case verb == "poke" && n == 3:
		chip.SetRegister(reg, value)
	case verb == "poke" || n < 2:
		return "", err
	}
	return fmt.Sprint(chip.Register(reg)), nil
}
