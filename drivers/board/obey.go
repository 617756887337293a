package board

import (
	"errors"
	"fmt"
	"strings"
)

// Force takes a line to a level for whoever holds it no more, or is frozen: where
// it is held by a messkit of the same user, both have it for a moment. It tells
// whether that has changed anything. A chip that is not there drives nothing, and
// begins with inputs when it is back.
func Force(k Chips, l Line, req Request) (changed bool, err error) {
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
		return false, fmt.Errorf("%s is held by %q, which does not let go of it: %w", p, info.Consumer, err)
	}
	is, err := h.Value()
	if err == nil && is != on {
		changed, err = true, h.Set(on)
	}
	return changed && err == nil, errors.Join(err, h.Close())
}

// forceFree takes a line that nobody holds.
func forceFree(k Chips, p Place, info Info, req Request, on bool) (changed bool, err error) {
	if !info.Output { // what it reads is what pulls at it
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
