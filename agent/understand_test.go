package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/messkit/messkit/agent/resolver"
	"github.com/messkit/messkit/capabilities"
	"github.com/messkit/messkit/capabilities/catalog"
	"github.com/messkit/messkit/drivers"
	"github.com/messkit/messkit/mess"
)

// fakeSensor is a sensor that nobody reads.
type fakeSensor struct{ fakeDevice }

func (p *fakeSensor) Read(context.Context) ([]drivers.Reading, error) { return nil, nil }

// movable is a lamp that reports its area.
type movable struct {
	lamp

	area string
}

func (m *movable) Area() string     { m.mu.Lock(); defer m.mu.Unlock(); return m.area }
func (m *movable) move(area string) { m.mu.Lock(); defer m.mu.Unlock(); m.area = area }

// manyDevices lists n devices in rooms of eight, as in a large home or an office block. Each room
// has three lamps, two plugs, two sensors, and a camera or a vacuum.
func manyDevices(n int) []resolver.Device {
	things := make([]resolver.Device, n)
	for i := range things {
		room := roomName(i)
		kind, class, area := "ceiling light", "light", room
		var driver drivers.Device = &lamp{}
		switch i % 8 {
		case 1:
			kind = "desk lamp"
		case 2:
			kind, area, driver = "reading lamp", "", &movable{area: room}
		case 3, 4:
			kind, class = fmt.Sprintf("plug %d", i%2+1), "plug"
		case 5:
			kind, class, driver = "thermometer", "thermometer", &fakeSensor{}
		case 6:
			kind, class, driver = "window", "contact-sensor", &fakeSensor{}
		case 7:
			kind, class, driver = "camera", "camera", &fridge{}
			if i%64 == 7 {
				kind, class, driver = "vacuum", "vacuum", newVacuumWithRooms(room, roomName(i+8), roomName(i+16))
			}
		}
		label := room + " " + kind
		things[i] = resolver.Device{Driver: driver, Device: capabilities.Device{Name: strings.ReplaceAll(label, " ", "-"), Label: label, Class: class, Area: area}}
	}
	return things
}

// roomName names the room of device i: the first ones as in a house, the others as in an office
// block.
func roomName(i int) string {
	first := []string{"kitchen", "living room", "bedroom", "hall", "bathroom"}
	if room := i / 8; room >= len(first) {
		return fmt.Sprintf("%s office %d", []string{"north", "south", "east", "west"}[room%4], room)
	}
	return first[i/8]
}

// requestsForManyDevices lists typical requests in an estate, all about devices.
func requestsForManyDevices(things []resolver.Device) []mess.Request {
	var list []mess.Request
	for k := range 20 {
		i := k * (len(things) - 1) / 19
		d, room := things[i], roomName(i)
		for _, form := range []string{
			"turn on the " + d.Label, "is the " + d.Label + " on?", "turn off the lights in the " + room,
			"how warm is it in the " + room + "?", "turn on the " + d.Label + " in ten minutes", "order a pizza for tonight",
		} {
			list = append(list, mess.Request{Intent: form})
		}
	}
	return list
}

var homeClock = func() (time.Time, error) { return time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC), nil }

// A home with cached values answers as a new one does. This holds after a device has moved or
// knows other rooms, and after devices were added, removed or renamed.
func TestCachedHomeAnswersAsNew(t *testing.T) {
	for _, n := range []int{10, 300, 3000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			if n > 300 && testing.Short() {
				t.Skip("a large home takes seconds")
			}
			things := manyDevices(n)
			home := func(things []resolver.Device) *resolver.Resolver {
				return resolver.New(catalog.Default(), things).In(capabilities.Home{}, homeClock)
			}
			lamp, cleaner := things[2].Driver.(*movable), newVacuumWithRooms("attic")
			things[9] = resolver.Device{Driver: cleaner, Device: capabilities.Device{Name: "robot", Label: "robot", Class: "vacuum", Area: "hall"}}
			h := home(things)
			requests := requestsForManyDevices(things)[:30]
			for _, text := range []string{
				"turn off the lights in the attic", "turn on the kitchen reading lamp", "turn on the lamp in the kitchen", "vacuum the attic with the robot",
				"vacuum the cellar with the robot", "vacuum the attic", "clean the cellar", "turn on the spare light", "turn on the light in the cellar",
			} {
				requests = append(requests, mess.Request{Intent: text})
			}
			changed := map[string]bool{}
			for _, change := range []struct {
				name string
				make func()
			}{
				{"nothing", func() {}},
				{"a lamp moves", func() { lamp.move("attic") }},
				{"a vacuum lists another room", func() { cleaner.set(func(m *vacuumWithRooms) { m.rooms = []string{"attic", "cellar"} }) }},
				{"a vacuum lists one room less", func() { cleaner.set(func(m *vacuumWithRooms) { m.rooms = []string{"cellar"} }) }},
				{"a device is added", func() {
					things = append(things, resolver.Device{Driver: &movable{area: "cellar"}, Device: capabilities.Device{Name: "spare", Label: "spare light", Class: "light"}})
					h = home(things)
				}},
				{"a device is renamed", func() {
					things = slices.Clone(things)
					things[len(things)-1].Label = "other light"
					h = home(things)
				}},
				{"devices are removed", func() { things = things[3:]; h = home(things) }},
			} {
				change.make()
				fresh := home(things)
				text := ""
				for _, req := range requests {
					got, want := h.Resolve(req), fresh.Resolve(req)
					if !reflect.DeepEqual(got, want) {
						t.Fatalf("%s: Resolve(%q) = %s, want that of a new home: %s", change.name, req.Intent, jsonText(t, got), jsonText(t, want))
					}
					text += jsonText(t, got)
				}
				if !reflect.DeepEqual(h.Offers(), fresh.Offers()) {
					t.Errorf("%s: the offers differ from those of a new home", change.name)
				}
				if changed[text] {
					t.Errorf("%s: no answer has changed; ask for something that does", change.name)
				}
				changed[text] = true
			}
		})
	}
}

// Devices that change during requests leave no outdated answer behind.
func TestCacheFollowsMovingDevices(t *testing.T) {
	things := manyDevices(40)
	lamp := things[2].Driver.(*movable)
	h := resolver.New(catalog.Default(), things)
	lights := func() string {
		q := h.Resolve(mess.Request{Intent: "turn on the light in the attic"})
		if q.Plan == nil {
			return ""
		}
		return q.Plan.Device
	}
	var others sync.WaitGroup
	stop := make(chan struct{})
	for range 3 {
		others.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					lights()
				}
			}
		})
	}
	for i := range 50 {
		area, want := "hall", ""
		if i%2 == 0 {
			area, want = "attic", "kitchen-reading-lamp"
		}
		lamp.move(area)
		if got := lights(); got != want {
			t.Errorf("with the lamp in the %s, %q is meant, want %q", area, got, want)
			break
		}
	}
	close(stop)
	others.Wait()
}

// A request does not wait for the index of a large home: Offers has built it, or the answer of
// a device with other places has.
func TestRequestFindsBuiltIndex(t *testing.T) {
	cheap := func(t *testing.T, h *resolver.Resolver) {
		t.Helper()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if out := h.Resolve(mess.Request{Intent: "turn on the kitchen ceiling light"}); out.Plan == nil {
			t.Fatalf("%+v, want a plan", out)
		}
		runtime.ReadMemStats(&after)
		if n := after.Mallocs - before.Mallocs; n > 5000 { // the index of 1,000 devices takes 70,000
			t.Errorf("a request made %d objects, want some hundred: the index was built for it", n)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		things := manyDevices(1000)
		h, cleaner := resolver.New(catalog.Default(), things), things[7].Driver.(*vacuumWithRooms)
		h.Offers()
		for _, rooms := range [][]string{{"hall"}, {"attic"}, {"attic", "hall"}} {
			synctest.Wait()
			cheap(t, h)
			cleaner.set(func(m *vacuumWithRooms) { m.rooms = rooms })
			time.Sleep(time.Minute)
			h.Offers() // rebuilds in the background
		}
	})
	quiet := slices.DeleteFunc(manyDevices(1000), func(t resolver.Device) bool { _, lists := t.Driver.(drivers.AreaLister); return lists })
	h := resolver.New(catalog.Default(), quiet)
	h.Offers()
	cheap(t, h)
}

func jsonText(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// BenchmarkUnderstand measures one request of a mix, by the number of devices.
func BenchmarkUnderstand(b *testing.B) {
	for _, n := range []int{10, 1000, 10000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			things := manyDevices(n)
			requests := requestsForManyDevices(things)
			h := resolver.New(catalog.Default(), things).In(capabilities.Home{}, homeClock)
			h.Now() // builds the resolver and asks each vacuum for its rooms
			i := 0
			for b.Loop() {
				h.Resolve(requests[i%len(requests)])
				i++
			}
		})
	}
}
