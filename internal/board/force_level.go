package board

import (
	"errors"
	"fmt"
	"strings"
)

// ForceLevel sets a line to the level of req.Start on behalf of a process that is dead or
// frozen, and reports whether that changed the level. If another messkit process of the
// same user has the line, both control it for a moment. ForceLevel changes nothing if the chip
// is absent: an absent chip drives nothing, and its lines are inputs when it returns.
func ForceLevel(k Chips, l Line, req Request) (changed bool, err error) {
	p, err := Find(k, l)
	switch {
	case errors.Is(err, ErrAbsent):
		return false, nil
	case err != nil:
		return false, err
	}
	info, err := k.Info(p.Chip.Name, p.Offset)
	if err != nil {
		return false, fmt.Errorf("%s: %w", p, err)
	}
	on := req.Start == On
	if !info.Used {
		return forceFree(k, p, info, req, on)
	}
	if !strings.HasPrefix(info.Consumer, labelPrefix) {
		return false, &BusyError{p, info.Consumer}
	}
	h, err := k.Borrow(p.Chip.Name, p.Offset, info.Consumer)
	if err != nil {
		return false, fmt.Errorf("%s is in use by %q, which does not share it: %w", p, info.Consumer, err)
	}
	is, err := h.Value()
	if err == nil && is != on {
		changed, err = true, h.Set(on)
	}
	return changed && err == nil, errors.Join(err, h.Close())
}

// forceFree sets a line that no process has requested.
func forceFree(k Chips, p Position, info Info, req Request, on bool) (changed bool, err error) {
	if !info.Output { // the level of an input shows the external circuit, not the last output
		h, err := k.Request(p.Chip.Name, p.Offset, req)
		if err != nil {
			return false, fmt.Errorf("%s: %w", p, err)
		}
		return true, h.Close()
	}
	req.Start = Keep
	h, err := k.Request(p.Chip.Name, p.Offset, req)
	if err != nil {
		return false, fmt.Errorf("%s: %w", p, err)
	}
	is, err := h.Value()
	if err == nil && is != on {
		changed, err = true, h.Set(on)
	}
	return changed && err == nil, errors.Join(err, h.Close())
}
