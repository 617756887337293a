package dctjpeg

// The cosine transforms of 8 samples are those of Loeffler, Ligtenberg and
// Moschytz ("Practical fast 1-D DCT algorithms with 11 multiplications", 1989),
// with 12 multiplications. Constants have 13 bits behind the point.
const (
	pointBits = 13
	passBits  = 2 // bits behind the point between the two passes

	c0298 = 2446
	c0390 = 3196
	c0541 = 4433
	c0765 = 6270
	c0899 = 7373
	c1175 = 9633
	c1501 = 12299
	c1847 = 15137
	c1961 = 16069
	c2053 = 16819
	c2562 = 20995
	c3072 = 25172
)

// odd rotates the four odd values. Both directions use it.
func odd(a, b, c, d int32) (p, q, r, s int32) {
	z1, z2, z3, z4 := -c0899*(a+d), -c2562*(b+c), a+c, b+d
	z5 := c1175 * (z3 + z4)
	z3, z4 = z5-c1961*z3, z5-c0390*z4
	return c0298*a + z1 + z3, c2053*b + z2 + z4, c3072*c + z2 + z3, c1501*d + z1 + z4
}

// inverse8 computes 8 samples from 8 coefficients. The result has pointBits more bits, and is
// larger by the square root of 8.
func inverse8(x0, x1, x2, x3, x4, x5, x6, x7 int32) (a, b, c, d, e, f, g, h int32) {
	z := (x2 + x6) * c0541
	t2, t3 := z-x6*c1847, z+x2*c0765
	t0, t1 := (x0+x4)<<pointBits, (x0-x4)<<pointBits
	e0, e3, e1, e2 := t0+t3, t0-t3, t1+t2, t1-t2
	o3, o2, o1, o0 := odd(x7, x5, x3, x1)
	return e0 + o0, e1 + o1, e2 + o2, e3 + o3, e3 - o3, e2 - o2, e1 - o1, e0 - o0
}

// forward8 is the inverse of inverse8. Its result is larger by the square root of 8, too.
func forward8(x0, x1, x2, x3, x4, x5, x6, x7 int32) (a, b, c, d, e, f, g, h int32) {
	t0, t7, t1, t6 := x0+x7, x0-x7, x1+x6, x1-x6
	t2, t5, t3, t4 := x2+x5, x2-x5, x3+x4, x3-x4
	e0, e3, e1, e2 := t0+t3, t0-t3, t1+t2, t1-t2
	z := (e2 + e3) * c0541
	h, f, d, b = odd(t4, t5, t6, t7)
	return (e0 + e1) << pointBits, b, z + e3*c0765, d, (e0 - e1) << pointBits, f, z - e2*c1847, h
}

// scaled8 computes 8 x 8 samples, around 0, from the coefficients of a block.
func scaled8(b *block, to []int16, stride int) {
	const s1, s2 = pointBits - passBits, pointBits + passBits + 3
	const r1, r2 = 1 << (s1 - 1), 1 << (s2 - 1)
	var w [64]int32
	for x := range 8 {
		x0, x1, x2, x3 := int32(b[x]), int32(b[8+x]), int32(b[16+x]), int32(b[24+x])
		x4, x5, x6, x7 := int32(b[32+x]), int32(b[40+x]), int32(b[48+x]), int32(b[56+x])
		if x1|x2|x3|x4|x5|x6|x7 == 0 {
			v := x0 << passBits
			w[x], w[8+x], w[16+x], w[24+x], w[32+x], w[40+x], w[48+x], w[56+x] = v, v, v, v, v, v, v, v
			continue
		}
		x0, x1, x2, x3, x4, x5, x6, x7 = inverse8(x0, x1, x2, x3, x4, x5, x6, x7)
		w[x], w[8+x], w[16+x], w[24+x] = (x0+r1)>>s1, (x1+r1)>>s1, (x2+r1)>>s1, (x3+r1)>>s1
		w[32+x], w[40+x], w[48+x], w[56+x] = (x4+r1)>>s1, (x5+r1)>>s1, (x6+r1)>>s1, (x7+r1)>>s1
	}
	for y := range 8 {
		v := (*[8]int32)(w[8*y:])
		x0, x1, x2, x3, x4, x5, x6, x7 := inverse8(v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7])
		d := (*[8]int16)(to[y*stride:])
		d[0], d[1], d[2], d[3] = int16((x0+r2)>>s2), int16((x1+r2)>>s2), int16((x2+r2)>>s2), int16((x3+r2)>>s2)
		d[4], d[5], d[6], d[7] = int16((x4+r2)>>s2), int16((x5+r2)>>s2), int16((x6+r2)>>s2), int16((x7+r2)>>s2)
	}
}

// forward computes coefficients, with factor 8, from 8 x 8 samples around 0.
func forward(from []int16, stride int, b *block) {
	const s1, s2 = pointBits - passBits, pointBits + passBits
	const r1, r2 = 1 << (s1 - 1), 1 << (s2 - 1)
	var w [64]int32
	for y := range 8 {
		v := (*[8]int16)(from[y*stride:])
		x0, x1, x2, x3, x4, x5, x6, x7 := forward8(int32(v[0]), int32(v[1]), int32(v[2]), int32(v[3]), int32(v[4]), int32(v[5]), int32(v[6]), int32(v[7]))
		d := (*[8]int32)(w[8*y:])
		d[0], d[1], d[2], d[3] = (x0+r1)>>s1, (x1+r1)>>s1, (x2+r1)>>s1, (x3+r1)>>s1
		d[4], d[5], d[6], d[7] = (x4+r1)>>s1, (x5+r1)>>s1, (x6+r1)>>s1, (x7+r1)>>s1
	}
	for x := range 8 {
		x0, x1, x2, x3, x4, x5, x6, x7 := forward8(w[x], w[8+x], w[16+x], w[24+x], w[32+x], w[40+x], w[48+x], w[56+x])
		b[x], b[8+x], b[16+x], b[24+x] = int16((x0+r2)>>s2), int16((x1+r2)>>s2), int16((x2+r2)>>s2), int16((x3+r2)>>s2)
		b[32+x], b[40+x], b[48+x], b[56+x] = int16((x4+r2)>>s2), int16((x5+r2)>>s2), int16((x6+r2)>>s2), int16((x7+r2)>>s2)
	}
}

// scaled1 computes the mean of a block as one sample.
func scaled1(b *block, to []int16, _ int) { to[0] = (b[0] + 4) >> 3 }

// scaledTo computes n x n samples, around 0, from the n x n lowest coefficients of a block: the
// picture scaled by n/8.
var scaledTo = [9]func(b *block, to []int16, stride int){
	1: scaled1, 2: scaled2, 3: scaled3, 4: scaled4, 5: scaled5, 6: scaled6, 7: scaled7, 8: scaled8,
}
