package picturebench

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/jpeg"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/disintegration/imaging"
)

// A set contains the photographs of one report.
type set struct {
	title  string
	photos []string
}

// The author chose the scale and the quantizer with the known photographs. The others are for
// comparison alone. The photographs are from Debian packages: README.md.
var (
	known = []string{
		"usr/share/backgrounds/Infinite-Sea_by_Aury88.jpg",
		"usr/share/backgrounds/Kleiber_by_Lukas_Baubkus.jpg",
		"usr/share/backgrounds/picosdeeuropa_by_Aitzol_Berasategi.jpg",
		"usr/share/backgrounds/life_by_Aitzol_Berasategi.jpg",
		"usr/share/backgrounds/Dragonfly_by_Bolly.jpg",
		"usr/share/backgrounds/seeding_by_Clements_Engelhardt.jpg",
		"usr/share/backgrounds/mate/abstract/Elephants_3840x2160.jpg",
		"usr/share/backgrounds/mate/abstract/Elephants_5640x3172.jpg",
	}
	others = []string{
		"usr/share/backgrounds/sunset_by_Aitzol_Berasategi.jpg",
		"usr/share/backgrounds/Bridge_by_Sander_Klootwijk.jpg",
		"usr/share/backgrounds/aitzgorri_by_Aitzol_Berasategi.jpg",
		"usr/share/backgrounds/friends_by_Aitzol_Berasategi.jpg",
		"usr/share/backgrounds/greentock_by_Peter_Nerlich.jpg",
		"usr/share/backgrounds/mate/nature/TwoWings.jpg",
		"usr/share/lxqt/wallpapers/after-the-rain.jpg",
		"usr/share/lxqt/wallpapers/fog.jpg",
		"usr/share/lxqt/wallpapers/this-is-not-windows.jpg",
		"usr/share/wallpapers/EveningGlow/contents/images/2560x1600.jpg",
		"usr/share/wallpapers/OneStandsOut/contents/images/2560x1600.jpg",
		"usr/share/wallpapers/Path/contents/images/2560x1600.jpg",
	}
)

// phones are pictures with the properties of a telephone's, made from known photographs.
var phones = []struct {
	from          int // of known
	width, height int
	noise         float64 // deviation
	orientation   byte
}{
	{1, 4000, 3000, 4, 1},
	{2, 4032, 3024, 10, 6},
	{4, 4608, 3456, 6, 1},
	{0, 6000, 4000, 3, 3},
}

// collect makes the pictures of phones in dir, and returns all sets.
func collect(t *testing.T, dir string) []set {
	t.Helper()
	a := set{"the photographs that messkit was made with, and four that are made of them as a telephone would take them", found(t, known)}
	b := set{"other photographs", found(t, others)}
	for i, p := range phones {
		name := filepath.Join(dir, "phone"+string(rune('1'+i))+".jpg")
		if err := os.WriteFile(name, phone(t, a.photos[p.from], p.width, p.height, p.noise, p.orientation), 0o644); err != nil {
			t.Fatal(err)
		}
		a.photos = append(a.photos, name)
	}
	return []set{a, b}
}

// found returns the paths of photographs: that of the installed package, or that in the folder of
// the script.
func found(t *testing.T, names []string) (paths []string) {
	t.Helper()
	for _, name := range names {
		at := filepath.Join("/", name)
		if _, err := os.Stat(at); err != nil {
			at = filepath.Join(os.Getenv("MESSKIT_BENCH_PHOTOS"), name)
		}
		if _, err := os.Stat(at); err != nil {
			t.Fatalf("%s is not there; make bench-picture fetches it", name)
		}
		paths = append(paths, at)
	}
	return paths
}

func phone(t *testing.T, from string, w, h int, noise float64, orientation byte) []byte {
	t.Helper()
	img := imaging.Fill(open(t, from), w, h, imaging.Center, imaging.CatmullRom)
	r := rand.New(rand.NewPCG(uint64(w), uint64(h)))
	for i, v := range img.Pix {
		if i%4 < 3 {
			img.Pix[i] = uint8(max(0, min(255, float64(v)+noise*r.NormFloat64())))
		}
	}
	opaque := &image.RGBA{Pix: img.Pix, Stride: img.Stride, Rect: img.Rect}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, opaque, &jpeg.Options{Quality: 93}); err != nil {
		t.Fatal(err)
	}
	exif := append([]byte("Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00"), orientation, 0, 0, 0, 0, 0, 0)
	segment := binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(exif)+2))
	return bytes.Join([][]byte{b.Bytes()[:2], segment, exif, b.Bytes()[2:]}, nil)
}

func open(t *testing.T, name string) image.Image {
	t.Helper()
	img, err := imaging.Open(name, imaging.AutoOrientation(true))
	if err != nil {
		t.Fatal(err)
	}
	return img
}
