package valetudo

import (
	"strings"
	"testing"

	"github.com/messkit/messkit/drivers"
)

func FuzzFloor(f *testing.F) {
	for _, s := range []string{
		`{"pixelSize":5,"layers":[{"type":"segment","compressedPixels":[1,2,3],"metaData":{"segmentId":"1","area":5}}],"entities":[{"type":"path","points":[1,2,3,4]}]}`,
		`{"pixelSize":5,"layers":[{"type":"wall","compressedPixels":[0,0,4096,9000,9000,1]}]}`, `{}`, `[]`, `{"layers":[{"compressedPixels":[1]}]}`,
		`{"pixelSize":1,"layers":[{"type":"floor","compressedPixels":[0,0,1]}],"entities":[{"type":"robot_position","points":[1e300,-1e300]}]}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseFloor(data)
		if err != nil {
			if got.Layers != nil || got.Entities != nil {
				t.Errorf("a map beside %v", err)
			}
			return
		}
		if c, err := got.draw(); err == nil && (c.img.Rect.Empty() || len(c.img.Pix) > 2*maxEdge*maxEdge) {
			t.Errorf("a picture of %v", c.img.Rect)
		} else if err == nil {
			m := got.place(c, []room{{ID: "1", Name: "one"}})
			for _, p := range []*drivers.MapPoint{m.Robot, m.Dock} {
				if p != nil && !(p.X >= 0 && p.Y >= 0 && p.X <= float64(m.Width) && p.Y <= float64(m.Height)) {
					t.Errorf("a position %+v on %d by %d pixels", *p, m.Width, m.Height)
				}
			}
		}
	})
}

func FuzzState(f *testing.F) {
	for _, s := range []string{
		`[{"__class":"StatusStateAttribute","value":"error","flag":"none","error":{"message":"m","subsystem":"dock"}}]`,
		`[{"__class":"StatusStateAttribute","value":7},{"__class":"BatteryStateAttribute","level":1e9}]`, `[]`, `{}`, `null`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseState(data)
		if err != nil {
			if got != (state{}) {
				t.Errorf("%+v beside %v", got, err)
			}
			return
		}
		if text, _ := got.describe(); !strings.HasPrefix(text, "The vacuum is ") {
			t.Errorf("text of %+v is %q", got, text)
		}
		if (got.neededHelp() != nil) != (got.Status == isError) {
			t.Errorf("%+v has trouble: %v", got, got.neededHelp())
		}
	})
}

func FuzzRooms(f *testing.F) {
	f.Add([]byte(`[{"id":"1","name":"a"},{"id":"2","name":"a"},{"id":"3"}]`))
	f.Add([]byte(`[{"id":1}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := parseRooms(data, nil)
		if err != nil && got != nil || err == nil && len(got) == 0 {
			t.Errorf("%+v beside %v", got, err)
		}
		for _, r := range got {
			if r.ID == "" || r.Name == "" {
				t.Errorf("%+v", r)
			}
		}
	})
}
