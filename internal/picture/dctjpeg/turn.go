package dctjpeg

// Turn mirrors a picture first, and then transposes it. Turning changes only the places and signs
// of coefficients, so it loses nothing.
type Turn struct {
	FlipX, FlipY bool // left becomes right; top becomes bottom
	Transpose    bool // rows become columns
}

// flips reports the edges of the picture that must end with whole blocks: the right one, and the
// bottom.
func (t Turn) flips() (right, bottom bool) { return t.FlipX, t.FlipY }

// turned turns b, whose incomplete blocks are where flips needs them.
func (b *Blocks) turned(t Turn) *Blocks {
	if t == (Turn{}) {
		return b
	}
	out := *b
	out.planes = nil
	if t.Transpose {
		out.Width, out.Height, out.hMax, out.vMax, out.mcuW, out.mcuH = b.Height, b.Width, b.vMax, b.hMax, b.mcuH, b.mcuW
	}
	places := t.places()
	for i := range b.planes {
		out.planes = append(out.planes, b.planes[i].turned(t, &places))
		b.planes[i] = plane{} // frees the memory
	}
	return &out
}

// turnedPlace is the new index of a coefficient, and the change of its sign.
type turnedPlace struct {
	to      int
	negated bool
}

// places returns the new place of each coefficient, in the order of a scan.
func (t Turn) places() (places [64]turnedPlace) {
	var order [64]int
	for k, at := range zigzag {
		order[at] = k
	}
	for k, at := range zigzag {
		u, v := int(at)%8, int(at)/8
		places[k] = turnedPlace{k, (t.FlipX && u%2 == 1) != (t.FlipY && v%2 == 1)}
		if t.Transpose {
			places[k].to = order[8*u+v]
		}
	}
	return places
}

func (p *plane) turned(t Turn, places *[64]turnedPlace) plane {
	out := *p
	if t.Transpose {
		out.h, out.v, out.width, out.high, out.wide, out.tall, out.needW, out.needH = p.v, p.h, p.high, p.width, p.tall, p.wide, p.needH, p.needW
	}
	out.empty()
	for y := range out.tall {
		for x := range out.needW {
			if y >= out.needH {
				break
			}
			fx, fy := x, y
			if t.Transpose {
				fx, fy = y, x
			}
			if t.FlipX {
				fx = p.needW - 1 - fx
			}
			if t.FlipY {
				fy = p.needH - 1 - fy
			}
			at := fy*p.wide + fx
			out.dc = append(out.dc, p.dc[at])
			piece := out.room()
			out.took(appendTurned(piece, p.tokens(at), places), len(piece))
		}
		for len(out.dc) < (y+1)*out.wide {
			out.blank()
		}
	}
	return out
}

// appendTurned appends the tokens of a turned block, in order.
func appendTurned(to, from []token, places *[64]turnedPlace) []token {
	start := len(to)
	for _, t := range from {
		p := &places[t.place()&63]
		v := t.value()
		if p.negated {
			v = -v
		}
		to = append(to, newToken(p.to, v))
		for i := len(to) - 1; i > start && to[i] < to[i-1]; i-- { // few are out of order, by short distances
			to[i], to[i-1] = to[i-1], to[i]
		}
	}
	return to
}
