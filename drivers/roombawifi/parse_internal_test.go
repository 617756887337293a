package roombawifi

import "testing"

// The driver adds the parts of the state that a message contains.
func FuzzTake(f *testing.F) {
	f.Add([]byte(`{"state":{"reported":{"batPct":87,"bin":{"present":true,"full":true},"pmaps":[{"a":"b"}]}}}`), []byte(`{"state":{"reported":{"cleanMissionStatus":{"cycle":"clean","phase":"run","error":0,"notReady":0,"sqft":215}}}}`))
	f.Add([]byte(`{"state":{"reported":{"cleanMissionStatus":{"phase":""}}}}`), []byte(`{"state":null}`))
	f.Fuzz(func(t *testing.T, a, b []byte) {
		var r report
		if r.take(a) == nil {
			before := r
			if r.take(b) != nil && (r.Mission != before.Mission || r.Battery != before.Battery) {
				t.Errorf("an error changes %+v to %+v", before, r)
			}
		}
		if r.Battery != nil && !(*r.Battery >= 0 && *r.Battery <= 100) {
			t.Errorf("battery %v", *r.Battery)
		}
		if r.Mission != nil {
			if text, _ := r.describe(); text == "" || r.Mission.Phase == "" {
				t.Errorf("text of %+v is %q", r.Mission, text)
			}
		}
		_, _, _ = r.version("")
	})
}
