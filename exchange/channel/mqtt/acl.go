package mqtt

import (
	"fmt"
	"strings"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/exchange/channel/mqtt/homeassistant"
	"github.com/messkit/messkit/exchange/keys"
	"github.com/messkit/messkit/mess/topic"
)

// ACL prints the access rules as an acl_file for mosquitto. In the file, the user of an actor is
// its id. The argument user is the user of the exchange. The argument holders has the actors with
// more rights than an executor or a requester. The argument home adds the rights of Home
// Assistant.
//
// Such a file cannot check the owner of a thread. So only observers and operators read states,
// and every user may write attachments. The exchange counts attachments for the holder of the
// claim. It uses only attachments that a message of the holder names by digest.
func ACL(exchangeID, user string, holders []keys.Principal, home bool) (string, error) {
	for _, id := range []string{exchangeID, user} {
		if err := topic.CheckID(id); err != nil {
			return "", err
		}
	}
	r, b := topic.Of(exchangeID), &strings.Builder{}
	fmt.Fprintf(b, "# Who may read and write what of the exchange %s, for mosquitto (acl_file).\n", exchangeID)
	b.WriteString("# Users without an entry here have no access. Set as well: allow_anonymous false, use_username_as_clientid true;\n")
	b.WriteString("# without the second, one user can cut off another by connecting with its id.\n\n# Every user, as the actor of that name.\n")
	own := func(access, t string) { fmt.Fprintf(b, "pattern %s %s\n", access, t) }
	own("read", r.Exchange())
	own("read", r.Stop())
	for _, leaf := range []topic.Leaf{topic.Status, topic.Card, topic.Out} {
		own("write", r.Executor("%u", leaf))
	}
	own("read", r.Executor("%u", topic.Status))
	own("read", r.Executor("%u", topic.In))
	own("read", r.Executor("%u", topic.Now))
	own("write", r.Agent("%u", topic.Out))
	own("read", r.Agent("%u", topic.In))
	own("write", r.Attachment(topic.Wild, topic.Wild))
	fmt.Fprintf(b, "\n# The exchange.\nuser %s\ntopic readwrite %s#\n", user, string(r))
	if home {
		fmt.Fprintf(b, "topic write %s\ntopic read %s\n", homeassistant.DiscoveryTopic(topic.Wild), homeassistant.BirthTopic)
		fmt.Fprintf(b, "\n# Home Assistant.\nuser %s\ntopic read %s\ntopic write %s\n", homeassistant.Actor, homeassistant.DiscoveryTopic(topic.Wild), homeassistant.BirthTopic)
		for _, t := range []string{r.Executor(topic.Wild, topic.Status), r.Home(topic.Wild, topic.Wild)} {
			fmt.Fprintf(b, "topic read %s\n", t)
		}
	}
	for _, h := range holders {
		roles, err := keys.Roles(h.Roles)
		if err != nil || !topic.ValidID(h.Actor) || h.Actor == user || home && h.Actor == homeassistant.Actor || roles&(exchange.Observer|exchange.Operator) == 0 {
			continue
		}
		fmt.Fprintf(b, "\n# %s.\nuser %s\n", strings.Join(h.Roles, ", "), h.Actor)
		for _, t := range []string{r.Executor(topic.Wild, topic.Status), r.Executor(topic.Wild, topic.Card), r.State(topic.Wild)} {
			fmt.Fprintf(b, "topic read %s\n", t)
		}
		if roles&exchange.Operator != 0 {
			fmt.Fprintf(b, "topic write %s\ntopic readwrite %s\n", r.Executor(topic.Wild, topic.Now), r.Stop())
		}
	}
	return b.String(), nil
}
