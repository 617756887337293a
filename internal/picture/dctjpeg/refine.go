package dctjpeg

import "math/bits"

// fineRow decodes a row of blocks with keep coefficients each.
func (d *decoder) fineRow(sc *scan, coefs []int16, keep int, set []uint64) error {
	h := sc.comps[0].ac
	wanted := ^uint64(0) << sc.ss & (^uint64(0) >> (63 - sc.se))
	for x := 0; x < len(set); x++ {
		if err := d.unit(sc); err != nil {
			return err
		}
		switch {
		case sc.ah > 0 && (d.eobRun == 0 || set[x]&wanted != 0):
			d.refine(sc, h, coefs[keep*x:keep*(x+1)], &set[x])
		case d.eobRun > 0:
			d.eobRun--
		default:
			d.first(sc, h, coefs[keep*x:keep*(x+1)], &set[x])
		}
	}
	return d.sound()
}

// first decodes coefficients of a block for the first time (T.81 section
// G.1.2.2).
func (d *decoder) first(sc *scan, h *huffman, to []int16, set *uint64) {
	r := &d.bits
	acc, n := r.acc, r.n
	seen := uint64(0)
	al, se := sc.al&15, sc.se
	for k := sc.ss; k <= se; k++ {
		if n < 32 {
			r.acc, r.n = acc, n
			r.fill()
			acc, n = r.acc, r.n
		}
		e := h.lookup[acc>>(64-lookupBits)]
		symbol, v := byte(e>>8), int32(e)>>16
		length := uint(e & lookLength)
		if e&lookWhole == 0 {
			if e == 0 {
				var ok bool
				symbol, length, ok = h.long(acc)
				r.bad = r.bad || !ok
			}
			if size := uint(symbol & 15); size > 0 {
				v = extend(int32(acc<<(length&63)>>(64-size)), size)
				length += size
			}
		}
		acc <<= length & 63
		n -= length
		run := int(symbol >> 4)
		if symbol&15 == 0 {
			if run < 15 {
				r.acc, r.n = acc, n
				d.eobRun = d.run(run) - 1
				*set |= seen
				return
			}
			k += 15
			continue
		}
		if k += run; k > se {
			r.bad = true
			break
		}
		seen |= 1 << (k & 63)
		if k < len(to) {
			to[k] = clip(v << al)
		}
	}
	*set |= seen
	r.acc, r.n = acc, n
}

// run returns the number of blocks that the code of an end-of-band run ends.
func (d *decoder) run(size int) int32 {
	return 1<<size + d.bits.bits(uint(size))
}

// refine decodes one more bit of the coefficients of a block (T.81 section
// G.1.2.3).
func (d *decoder) refine(sc *scan, h *huffman, to []int16, set *uint64) {
	k := sc.ss
	for d.eobRun == 0 && k <= sc.se {
		symbol := d.bits.symbol(h)
		zeros, size := int(symbol>>4), symbol&15
		fresh := int16(0)
		switch {
		case size == 1:
			fresh = int16(2*d.bits.bits(1)-1) << sc.al
		case size > 1:
			d.bits.bad = true
			return
		case zeros < 15:
			d.eobRun = d.run(zeros)
			d.refineSet(sc, to, *set, k, -1)
			d.eobRun--
			return
		}
		if k = d.refineSet(sc, to, *set, k, zeros); k > sc.se {
			d.bits.bad = d.bits.bad || fresh != 0
			return
		}
		if fresh != 0 {
			*set |= 1 << k
			if k < len(to) {
				to[k] = fresh
			}
		}
		k++
	}
	if d.eobRun > 0 && k <= sc.se {
		d.refineSet(sc, to, *set, k, -1)
		d.eobRun--
	}
}

// refineSet reads a bit for each nonzero coefficient from k on, until it has passed the given
// number of zero coefficients. It returns the index of the next zero coefficient, or of the end
// of the scan's coefficients. A negative number passes all.
func (d *decoder) refineSet(sc *scan, to []int16, set uint64, k, zeros int) int {
	from := ^uint64(0) << (k & 63) & (^uint64(0) >> ((63 - sc.se) & 63))
	end := sc.se + 1
	if zeros >= 0 {
		unset := from &^ set
		for ; zeros > 0; zeros-- {
			unset &= unset - 1
		}
		if unset != 0 {
			end = bits.TrailingZeros64(unset)
			from &= 1<<(end&63) - 1
		}
	}
	passed := set & from
	if passed == 0 {
		return end
	}
	n := uint(bits.OnesCount64(passed))
	more := d.bits.many(n) << ((64 - n) & 63)
	for ; passed != 0; passed &= passed - 1 {
		at := bits.TrailingZeros64(passed)
		if at >= len(to) {
			break
		}
		v := to[at]
		sign := v >> 15
		to[at] = v + (int16(more>>63)<<(sc.al&15) ^ sign - sign)
		more <<= 1
	}
	return end
}
