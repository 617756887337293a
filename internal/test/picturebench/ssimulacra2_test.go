package picturebench

import (
	"image"
	"math"
	"sync"
)

// ssimulacra2 returns the similarity of a picture to the original, by Jon Sneyers' metric of that
// name (2023, as in libjxl 0.8 and later): 100 is equal, 90 has no visible difference side by
// side, 70 is high quality, 50 medium. Both pictures must have the same size.
func ssimulacra2(original, other image.Image) float64 {
	a, b := linear(original), linear(other)
	var norms [3][6][6]float64 // by component, scale; of ssim, ringing and blur the mean and the 4-norm
	for scale := range 6 {
		if a.w < 8 || a.h < 8 {
			break
		}
		if scale > 0 {
			a, b = a.half(), b.half()
		}
		xa, xb := a.xyb(), b.xyb()
		var wg sync.WaitGroup
		for c := range 3 {
			wg.Go(func() { norms[c][scale] = compare(xa[c], xb[c], a.w, a.h) })
		}
		wg.Wait()
	}
	sum, i := 0.0, 0
	for c := range 3 {
		for scale := range 6 {
			n := norms[c][scale]
			for _, v := range []float64{n[0], n[2], n[4], n[1], n[3], n[5]} {
				sum += ssimulacra2Weights[i] * math.Abs(v)
				i++
			}
		}
	}
	sum *= 0.9562382616834844
	sum = 2.326765642916932*sum - 0.020884521182843837*sum*sum + 6.248496625763138e-05*sum*sum*sum
	if sum <= 0 {
		return 100
	}
	return 100 - 10*math.Pow(sum, 0.6276336467831387)
}

// light is a picture in linear light, by component.
type light struct {
	w, h int
	c    [3][]float32
}

func linear(img image.Image) *light {
	b := img.Bounds()
	l := &light{w: b.Dx(), h: b.Dy()}
	var table [256]float32
	for i := range table {
		v := float64(i) / 255
		if v <= 0.04045 {
			table[i] = float32(v / 12.92)
		} else {
			table[i] = float32(math.Pow((v+0.055)/1.055, 2.4))
		}
	}
	for c := range l.c {
		l.c[c] = make([]float32, l.w*l.h)
	}
	for y := range l.h {
		for x := range l.w {
			r, g, bl, _ := img.At(b.Min.X+x, b.Min.Y+y).RGBA()
			i := y*l.w + x
			l.c[0][i], l.c[1][i], l.c[2][i] = table[r>>8], table[g>>8], table[bl>>8]
		}
	}
	return l
}

func (l *light) half() *light {
	out := &light{w: (l.w + 1) / 2, h: (l.h + 1) / 2}
	for c := range l.c {
		out.c[c] = make([]float32, out.w*out.h)
		for y := range out.h {
			for x := range out.w {
				x1, y1 := min(2*x+1, l.w-1), min(2*y+1, l.h-1)
				out.c[c][y*out.w+x] = (l.c[c][2*y*l.w+2*x] + l.c[c][2*y*l.w+x1] + l.c[c][y1*l.w+2*x] + l.c[c][y1*l.w+x1]) / 4
			}
		}
	}
	return out
}

// xyb converts to the color space of JPEG XL, with values of about 0 to 1.
func (l *light) xyb() (out [3][]float32) {
	const bias = 0.0037930732552754493
	root := math.Cbrt(bias)
	for c := range out {
		out[c] = make([]float32, len(l.c[0]))
	}
	mix := func(r, g, b, kr, kg, kb float64) float64 {
		return math.Cbrt(max(0, kr*r+kg*g+kb*b+bias)) - root
	}
	for i := range out[0] {
		r, g, b := float64(l.c[0][i]), float64(l.c[1][i]), float64(l.c[2][i])
		long := mix(r, g, b, 0.30, 1-0.078-0.30, 0.078)
		medium := mix(r, g, b, 0.23, 1-0.078-0.23, 0.078)
		short := mix(r, g, b, 0.24342268924547819, 0.20476744424496821, 1-0.24342268924547819-0.20476744424496821)
		x, y := (long-medium)/2, (long+medium)/2
		out[0][i], out[1][i], out[2][i] = float32(x*14+0.42), float32(y+0.01), float32(short-y+0.55)
	}
	return out
}

// gauss is a kernel with a standard deviation of 1.5.
var gauss = func() (k [11]float32) {
	sum := 0.0
	for i := range k {
		sum += math.Exp(-float64((i-5)*(i-5)) / (2 * 1.5 * 1.5))
	}
	for i := range k {
		k[i] = float32(math.Exp(-float64((i-5)*(i-5))/(2*1.5*1.5)) / sum)
	}
	return k
}()

// blurred returns the blurred product of two pictures, or a blurred picture if b is nil. Samples
// outside are 0.
func blurred(a, b []float32, w, h int) []float32 {
	mid, out := make([]float32, w*h), make([]float32, w*h)
	row := make([]float32, w+10)
	for y := range h {
		for x := range w {
			row[x+5] = a[y*w+x]
			if b != nil {
				row[x+5] *= b[y*w+x]
			}
		}
		for x := range w {
			sum, near := float32(0), row[x:x+11]
			for i, k := range gauss {
				sum += k * near[i]
			}
			mid[y*w+x] = sum
		}
	}
	for y := range h {
		to := out[y*w : (y+1)*w]
		for i, k := range gauss {
			if from := y + i - 5; from >= 0 && from < h {
				for x, v := range mid[from*w : (from+1)*w] {
					to[x] += k * v
				}
			}
		}
	}
	return out
}

// compare returns the means and 4-norms of three maps of one component.
func compare(a, b []float32, w, h int) (norms [6]float64) {
	const c2 = 0.0009
	ma, mb := blurred(a, nil, w, h), blurred(b, nil, w, h)
	saa, sbb, sab := blurred(a, a, w, h), blurred(b, b, w, h), blurred(a, b, w, h)
	add := func(i int, v float64) {
		norms[i] += v
		norms[i+1] += v * v * v * v
	}
	for i := range a {
		x, y := float64(ma[i]), float64(mb[i])
		same := (1 - (x-y)*(x-y)) * (2*(float64(sab[i])-x*y) + c2) / (float64(saa[i]) - x*x + float64(sbb[i]) - y*y + c2)
		add(0, max(0, 1-same))
		edge := (1+math.Abs(float64(b[i])-y))/(1+math.Abs(float64(a[i])-x)) - 1
		add(2, max(0, edge))
		add(4, max(0, -edge))
	}
	for i := range norms {
		norms[i] /= float64(len(a))
		if i%2 == 1 {
			norms[i] = math.Sqrt(math.Sqrt(norms[i]))
		}
	}
	return norms
}

// ssimulacra2Weights are the author's weights, fitted to ratings by people: for each component
// and scale the weights of both norms of the three maps.
var ssimulacra2Weights = [108]float64{
	0, 0.0007376606707406586, 0, 0, 0.0007793481682867309, 0, 0, 0.0004371155730107379, 0,
	1.1041726426657346, 0.00066284834129271, 0.00015231632783718752, 0, 0.0016406437456599754, 0,
	1.8422455520539298, 11.441172603757666, 0, 0.0007989109436015163, 0.000176816438078653, 0,
	1.8787594979546387, 10.94906990605142, 0, 0.0007289346991508072, 0.9677937080626833, 0,
	0.00014003424285435884, 0.9981766977854967, 0.00031949755934435053, 0.0004550992113792063, 0, 0,
	0.0013648766163243398, 0, 0, 0, 0, 0, 7.466890328078848, 0, 17.445833984131262,
	0.0006235601634041466, 0, 0, 6.683678146179332, 0.00037724407979611296, 1.027889937768264,
	225.20515300849274, 0, 0, 19.213238186143016, 0.0011401524586618361, 0.001237755635509985,
	176.39317598450694, 0, 0, 24.43300999870476, 0.28520802612117757, 0.0004485436923833408, 0, 0, 0,
	34.77906344483772, 44.835625328877896, 0, 0, 0, 0, 0, 0, 0, 0, 0.0008680556573291698, 0, 0, 0, 0, 0,
	0.0005313191874358747, 0, 0.00016533814161379112, 0, 0, 0, 0, 0, 0.0004179171803251336,
	0.0017290828234722833, 0, 0.0020827005846636437, 0, 0, 8.826982764996862, 23.19243343998926, 0,
	95.1080498811086, 0.9863978034400682, 0.9834382792465353, 0.0012286405048278493,
	171.2667255897307, 0.9807858872435379, 0, 0, 0, 0.0005130064588990679, 0, 0.00010854057858411537,
}
