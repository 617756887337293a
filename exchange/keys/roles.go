package keys

import (
	"maps"
	"slices"
	"strings"

	"github.com/messkit/messkit/exchange"
	"github.com/messkit/messkit/mess"
)

var roleNames = map[string]exchange.Role{
	"requester": exchange.Requester, "executor": exchange.ExecutorRole, "observer": exchange.Observer, "operator": exchange.Operator,
}

// RoleNames are the roles there are, in the order of the alphabet.
func RoleNames() []string { return slices.Sorted(maps.Keys(roleNames)) }

// Roles reads names of roles. One that is not known is an error: without it
// somebody would be let in as somebody less, or more.
func Roles(names []string) (exchange.Role, error) {
	var roles exchange.Role
	for _, name := range names {
		r, ok := roleNames[name]
		if !ok {
			return 0, mess.Errorf(mess.Invalid, "roles: %.40q is not known; write some of: %s", name, strings.Join(RoleNames(), ", "))
		}
		roles |= r
	}
	return roles, nil
}

// Names are the names of roles, in the order of the alphabet.
func Names(roles exchange.Role) []string {
	return slices.DeleteFunc(RoleNames(), func(name string) bool { return roles&roleNames[name] == 0 })
}
