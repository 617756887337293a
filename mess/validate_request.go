package mess

import (
	"fmt"
	"slices"
	"strings"
)

// maxIntent is the size limit for an intent in bytes: a sentence, not a document. Longer
// text belongs in context.
const maxIntent = 4096

func (c *checker) request(path string, r *Request) {
	c.id(path+".id", r.ID)
	switch {
	case strings.TrimSpace(r.Intent) == "":
		c.fail(path, "intent is missing; write the request in plain words")
	case len(r.Intent) > maxIntent:
		c.fail(path+".intent", "%d bytes are too long; say it in at most %d and put the rest in context", len(r.Intent), maxIntent)
	}
	oneOf(c, path+".precision", r.Precision, Loose, Guided, Exact)
	oneOf(c, path+".priority", r.Priority, Background, Normal, Elevated, Urgent)
	c.checkTime(path+".needed_by", r.NeededBy)
	c.capabilities(path+".requires", r.Requires)
	c.entries(path+".context", r.Context)
	c.restrictions(path, r)
	c.constraints(path+".constraints", r.Constraints)
	for i, h := range r.ResponseHint {
		if strings.TrimSpace(h.Type) == "" {
			c.fail(fmt.Sprintf("%s.response_hint[%d]", path, i), "a type of content is missing; write text, image, ...")
		}
	}
	if k := r.Compensation; k != nil && k.Shells != nil && *k.Shells < 0 {
		c.fail(path+".compensation.shells", "%d is negative; write 0 or more", *k.Shells)
	}
}

// Fields of a request by their position in MESS (1.0 section 3.2, 1.1 section 4).
var (
	ofTiming      = []string{"not_before", "expires", "urgency"}
	ofConstraints = []string{"location", "timing", "environment", "depends_on"}
	ofRequests    = []string{"needed_by", "confirm_before", "requires", "priority", "precision"}
)

// misplaced rejects known fields at a wrong position. As unknown fields they would limit
// nothing, and a request that must wait would begin.
func (c *checker) misplaced(path string, extra Object, within string, elsewhere ...string) {
	for _, f := range extra {
		if slices.Contains(elsewhere, f.Key) {
			c.fail(path+"."+f.Key, "belongs in %s; write it there", within)
		}
	}
}

func (c *checker) restrictions(path string, r *Request) {
	c.misplaced(path, r.Extra, "constraints", ofConstraints...)
	c.misplaced(path, r.Extra, "constraints.timing", ofTiming...)
	for _, f := range r.Extra {
		if strings.HasPrefix(f.Key, "confirm") {
			c.fail(path+"."+f.Key, "is not a field of a request; write confirm_before: true to require a confirmation")
		}
	}
	if k := r.Constraints; k != nil {
		c.misplaced(path+".constraints", k.Extra, "constraints.timing", ofTiming...)
		c.misplaced(path+".constraints", k.Extra, "the request itself", ofRequests...)
		if t := k.Timing; t != nil {
			c.misplaced(path+".constraints.timing", t.Extra, "constraints", ofConstraints...)
			c.misplaced(path+".constraints.timing", t.Extra, "the request itself", ofRequests...)
		}
	}
}

func (c *checker) constraints(path string, k *Constraints) {
	if k == nil {
		return
	}
	if a := k.Location; a != nil {
		c.area(path+".location", a)
	}
	if t := k.Timing; t != nil {
		c.checkTime(path+".timing.not_before", t.NotBefore)
		c.when(path+".timing.expires", t.Expires)
		c.notZero(path+".timing.expires", Time(t.Expires))
		if clock.MatchString(string(t.Expires)) {
			c.fail(path+".timing.expires", "%q has no day; write a time with its day, or a duration", t.Expires)
		}
		oneOf(c, path+".timing.urgency", t.Urgency, Whenever, Soon, Now)
	}
	c.refs(path+".depends_on", k.DependsOn)
}

func (c *checker) area(path string, a *TargetArea) {
	if a.Name != "" {
		return
	}
	c.needs(path, a.Lat != nil && a.Lng != nil || len(a.Extra) > 0, "lat or lng")
	c.within(path+".lat", a.Lat, -90, 90)
	c.within(path+".lng", a.Lng, -180, 180)
	c.within(path+".radius_km", a.RadiusKM, 0, 20_040) // half way round the earth
}

// entries checks context or content (MESS 1.0 section 2, 1.1 section 3). Unknown types are
// valid.
func (c *checker) entries(path string, list []Entry) {
	for i, e := range list {
		at := fmt.Sprintf("%s[%d]", path, i)
		if e.Type == "" {
			c.bare(at, e)
		} else {
			c.entry(at+"."+e.Type, e)
		}
	}
}

func (c *checker) bare(path string, e Entry) {
	switch v := e.Value.(type) {
	case nil:
		c.fail(path, "is empty; write text, or a mapping such as image: URI")
	case Object, []any:
		c.fail(path, "has no type; write a mapping such as image: URI or structured: {...}")
	case string, bool, Number:
	default:
		c.fail(path, "is a %T; write text", v)
	}
}

func (c *checker) entry(path string, e Entry) {
	switch e.Type {
	case "image", "audio", "video", "file":
		c.media(path, e)
	case "url", "ref", "text":
		if s, ok := e.Value.(string); !ok || e.Type != "text" && strings.TrimSpace(s) == "" {
			c.fail(path, "is not text; write text")
		}
	case "embedding":
		c.embedding(path, e.Value)
	case "confirmation":
		c.confirmation(path, e.Value)
	case "structured":
		if e.Value == nil {
			c.fail(path, "is empty; write a mapping")
		}
	case "error":
		c.failure(path, e)
	case "location":
		c.location(path, e)
	}
}

// media accepts a URI, or a mapping with the location of the bytes. Other implementations
// write the bytes in data, next to a name.
func (c *checker) media(path string, e Entry) {
	switch v := e.Value.(type) {
	case string:
		if strings.TrimSpace(v) == "" {
			c.fail(path, "is empty; write a URI")
		}
	case Object:
		for _, key := range []string{"uri", "file", "resource", "data", "url", "name", "mime", "sha256"} {
			switch at, _ := v.Get(key); at.(type) {
			case nil, string:
			default:
				c.fail(path+"."+key, "is %s; write text", What(at))
				return
			}
		}
		if at, _ := v.Get("size"); at != nil {
			if _, ok := at.(Number); !ok {
				c.fail(path+".size", "is %s; write the number of bytes", What(at))
			}
		}
		for _, key := range []string{"uri", "file", "resource", "data", "url"} {
			if at, ok := v.Get(key); ok && at != nil {
				return
			}
		}
		c.fail(path, "has no location; write uri: ... (or file: the name of an attachment)")
	default:
		c.fail(path, "is neither a URI nor a mapping; write a URI, or a mapping with uri, name and mime")
	}
}

func (c *checker) embedding(path string, v any) {
	list, ok := v.([]any)
	for _, one := range list {
		if _, number := one.(Number); !number && one != "..." { // the example in the specification ends with dots
			ok = false
		}
	}
	if !ok {
		c.fail(path, "is not a list of numbers; write one")
	}
}

func (c *checker) confirmation(path string, v any) {
	if _, ok := v.(bool); ok {
		return
	}
	o, _ := v.(Object)
	yes, _ := o.Get("confirmed")
	if _, ok := yes.(bool); !ok {
		c.fail(path, "is neither true nor false; write one, or a mapping with confirmed: true or false")
	}
}

func (c *checker) failure(path string, e Entry) {
	f, ok := e.Failure()
	if !ok || f.Code == "" && f.Message == "" {
		c.fail(path, "is not an error; write a mapping with code and message")
	}
}

func (c *checker) location(path string, e Entry) {
	l, ok := e.Location()
	if !ok {
		c.fail(path, "is not a place; write a mapping with lat and lng, name, address or description")
		return
	}
	c.within(path+".lat", l.Lat, -90, 90)
	c.within(path+".lng", l.Lng, -180, 180)
	c.within(path+".accuracy", l.Accuracy, 0, 4e7)
	if (l.Lat == nil) != (l.Lng == nil) {
		c.fail(path, "has one of lat and lng; write both or none")
	}
}
