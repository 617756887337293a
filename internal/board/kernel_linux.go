package board

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/warthog618/go-gpiocdev"
	"github.com/warthog618/go-gpiocdev/uapi"
	"golang.org/x/sys/unix"
)

// Kernel gives access to the GPIO chips of this host.
type Kernel struct{}

var _ Chips = Kernel{}

// List returns the chips that this process can open. It returns an error if there are chips
// but the process can open none. It omits second names of a chip, such as gpiochip4 on a Pi
// 5.
func (Kernel) List() ([]Chip, error) {
	var list []Chip
	var errs []error
	for _, name := range gpiocdev.Chips() {
		c, err := gpiocdev.NewChip(name)
		if errors.Is(err, gpiocdev.ErrNotCharacterDevice) {
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		list = append(list, Chip{Name: c.Name, Label: c.Label, Lines: c.Lines()})
		_ = c.Close() // read only
	}
	if len(list) > 0 {
		return list, nil
	}
	if len(errs) > 0 {
		return nil, errs[0] // the other chips have the same group
	}
	return nil, nil
}

// Info reads the state of a line.
func (Kernel) Info(chip string, offset int) (Info, error) {
	c, err := gpiocdev.NewChip(chip)
	if err != nil {
		return Info{}, err
	}
	defer func() { _ = c.Close() }() // read only
	i, err := c.LineInfo(offset)
	return Info{Name: i.Name, Used: i.Used, Consumer: i.Consumer, Output: i.Config.Direction == gpiocdev.LineDirectionOutput}, err
}

// Request requests a line. The kernel cannot debounce the lines of chips behind USB or I2C;
// Request then requests them without debouncing.
func (k Kernel) Request(chip string, offset int, r Request) (RequestedLine, error) {
	h, err := k.request(chip, offset, r)
	if errors.Is(err, unix.EINVAL) && r.Debounce > 0 {
		r.Debounce = 0
		return k.request(chip, offset, r)
	}
	return h, err
}

func (Kernel) request(chip string, offset int, r Request) (RequestedLine, error) {
	options := []gpiocdev.LineReqOption{gpiocdev.WithConsumer(r.Label)}
	if r.ActiveLow {
		options = append(options, gpiocdev.AsActiveLow)
	}
	switch r.Start {
	case Input:
		options = append(options, gpiocdev.AsInput)
		options = append(options, r.edges()...)
	case On, Off:
		options = append(append(options, r.drive()...), gpiocdev.AsOutput(levelOf(r.Start == On)))
	}
	if r.Start != Keep { // A request that keeps the direction of a line cannot set a bias; keep sets it.
		options = append(options, r.biased()...)
	}
	l, err := gpiocdev.RequestLine(chip, offset, options...)
	if err != nil {
		return nil, meaning(err)
	}
	if r.Start == Keep {
		if err := r.keep(l); err != nil {
			return nil, errors.Join(meaning(err), l.Close())
		}
	}
	return held{l}, nil
}

// keep turns a line into an output at its present level.
func (r Request) keep(l *gpiocdev.Line) error {
	now, err := l.Value()
	if err != nil {
		return err
	}
	options := []gpiocdev.LineConfigOption{gpiocdev.AsOutput(now)}
	if r.OpenDrain {
		options = append(options, gpiocdev.AsOpenDrain)
	}
	if bias, ok := biases[r.Bias]; ok {
		options = append(options, bias)
	}
	return l.Reconfigure(options...)
}

func (r Request) drive() []gpiocdev.LineReqOption {
	if r.OpenDrain {
		return []gpiocdev.LineReqOption{gpiocdev.AsOpenDrain}
	}
	return nil
}

// biases maps the values of Request.Bias.
var biases = map[string]gpiocdev.LineBias{"up": gpiocdev.WithPullUp, "down": gpiocdev.WithPullDown, "none": gpiocdev.WithBiasDisabled}

func (r Request) biased() []gpiocdev.LineReqOption {
	if bias, ok := biases[r.Bias]; ok {
		return []gpiocdev.LineReqOption{bias}
	}
	return nil
}

func (r Request) edges() (options []gpiocdev.LineReqOption) {
	if r.Debounce > 0 {
		options = append(options, gpiocdev.WithDebounce(r.Debounce))
	}
	if r.Edge != nil {
		options = append(options, gpiocdev.WithBothEdges, gpiocdev.WithEventHandler(func(e gpiocdev.LineEvent) {
			r.Edge(e.Type == gpiocdev.LineEventRisingEdge)
		}))
	}
	return options
}

func levelOf(on bool) int {
	if on {
		return 1
	}
	return 0
}

// meaning converts the errors that a caller must distinguish.
func meaning(err error) error {
	switch {
	case errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return fmt.Errorf("%w (%w)", ErrGone, err)
	case errors.Is(err, unix.EBUSY):
		return fmt.Errorf("%w (%w)", ErrBusy, err)
	}
	return err
}

// held is a line that this process has requested.
type held struct{ line *gpiocdev.Line }

func (h held) Value() (bool, error) {
	v, err := h.line.Value()
	return v == 1, meaning(err)
}

func (h held) Set(on bool) error { return meaning(h.line.SetValue(levelOf(on))) }
func (h held) Close() error      { return h.line.Close() }

// Borrow gets a second descriptor of the line from the process that has it (pidfd_getfd(2),
// Linux 5.6). It finds the descriptor in the fdinfo of that process (Linux 6.1). The other
// process must belong to the same user. If the kernel uses Yama, the other process must
// also have named this process as its tracer.
func (Kernel) Borrow(chip string, offset int, holder string) (RequestedLine, error) {
	pid, err := pidOf(holder)
	if err != nil {
		return nil, err
	}
	fd, err := findLine(pid, chip, offset)
	if err != nil {
		return nil, err
	}
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	defer func() { _ = unix.Close(process) }() // read only
	own, err := unix.PidfdGetfd(process, fd, 0)
	if err != nil {
		return nil, fmt.Errorf("process %d: %w", pid, err)
	}
	return borrowed(own), nil
}

// pidOf returns the process ID in a label of messkit.
func pidOf(label string) (int, error) {
	word, _, _ := strings.Cut(strings.TrimPrefix(label, labelPrefix), " ")
	pid, err := strconv.Atoi(word)
	if err != nil || pid <= 0 || !strings.HasPrefix(label, labelPrefix) {
		return 0, fmt.Errorf("%q contains no process ID", label)
	}
	return pid, nil
}

// findLine returns the number of a process's descriptor for a line.
func findLine(pid int, chip string, offset int) (int, error) {
	folder := fmt.Sprintf("/proc/%d/fdinfo", pid)
	all, err := os.ReadDir(folder)
	if err != nil {
		return 0, err
	}
	for _, f := range all {
		info, err := os.ReadFile(filepath.Join(folder, f.Name()))
		if err == nil && isLine(string(info), chip, offset) {
			return strconv.Atoi(f.Name())
		}
	}
	return 0, fmt.Errorf("process %d: no descriptor of the process is this line; the search needs Linux 6.1 or later", pid)
}

// isLine reports whether the fdinfo of a descriptor describes this line.
func isLine(info, chip string, offset int) bool {
	var itsChip, itsLine string
	for _, row := range strings.Split(info, "\n") {
		key, value, _ := strings.Cut(row, ":")
		switch key {
		case "gpio-chip":
			itsChip = strings.TrimSpace(value)
		case "gpio-line":
			itsLine = strings.TrimSpace(value)
		}
	}
	return itsChip == chip && itsLine == strconv.Itoa(offset)
}

// borrowed is the descriptor of a line that another process has requested.
type borrowed int

func (b borrowed) Value() (bool, error) {
	v := uapi.LineValues{Mask: 1}
	err := uapi.GetLineValuesV2(uintptr(b), &v)
	return v.Get(0) == 1, meaning(err)
}

func (b borrowed) Set(on bool) error {
	return meaning(uapi.SetLineValuesV2(uintptr(b), uapi.LineValues{Mask: 1, Bits: uapi.NewLineBitmap(levelOf(on))}))
}

func (b borrowed) Close() error { return unix.Close(int(b)) }
