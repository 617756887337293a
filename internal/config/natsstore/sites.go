package natsstore

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/messkit/messkit/internal/natslink"
	"github.com/messkit/messkit/mess"
)

// Site is a value of sites:, under the name of a site whose threads this exchange reads in a copy. The
// servers of the site are leaf nodes of those of the store.
type Site struct {
	Domain  string `yaml:"domain"`   // of JetStream at the site; "": the name of the site
	KeyFile string `yaml:"key_file"` // with the key that this exchange has at the exchange of the site; "": it sends no requests
}

// Centre is the value of centre: of the exchange of a site. It says from where the exchange takes requests.
type Centre struct {
	Domain   string   `yaml:"domain"`   // of JetStream at the servers of the centre
	Exchange string   `yaml:"exchange"` // id of the exchange there, which is also the actor of its key here
	Accept   []string `yaml:"accept"`   // requesters there whose requests this exchange takes; "*": all
}

// In returns the settings of the store for the copy of a site.
func (s Site) In(store Settings, name string) Settings {
	store.Site = name
	return store
}

// DomainOf returns the domain of a site.
func (s Site) DomainOf(name string) string { return cmp.Or(s.Domain, name) }

// CheckSites returns an error for each wrong setting of sites and centre. own is the id of the exchange.
func CheckSites(store *Settings, own string, all map[string]Site, centre *Centre) error {
	var errs []error
	if store == nil && len(all) > 0 {
		errs = append(errs, errors.New("sites: need the NATS servers with which the sites are connected; write store: with their addresses"))
	}
	if store == nil && centre != nil {
		errs = append(errs, errors.New("centre: needs the NATS servers of this site, a leaf node of those of the centre; write store: with their addresses"))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		domain := all[name].DomainOf(name)
		switch err := cmp.Or(natslink.CheckWord(name), natslink.CheckWord(domain)); {
		case err != nil:
			errs = append(errs, fmt.Errorf("sites: %w", err))
		case store != nil && name == cmp.Or(store.Site, own), name == own:
			errs = append(errs, fmt.Errorf("sites: %s is this exchange itself; write the sites of other exchanges", name))
		}
	}
	if centre == nil {
		return errors.Join(errs...)
	}
	if err := natslink.CheckWord(centre.Domain); err != nil {
		errs = append(errs, fmt.Errorf("centre: domain: %w, as in jetstream {domain: ...} of the servers of the centre", err))
	}
	if !mess.ValidID(centre.Exchange) || centre.Exchange == own {
		errs = append(errs, fmt.Errorf("centre: exchange: %q is not the exchange of a centre; write its id", centre.Exchange))
	}
	for _, who := range centre.Accept {
		if who != "*" && !mess.ValidID(who) {
			errs = append(errs, fmt.Errorf("centre: accept: %q cannot name a requester; write the ids of actors of the centre, or \"*\" for all", who))
		}
	}
	return errors.Join(errs...)
}
